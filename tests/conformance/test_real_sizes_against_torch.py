"""PyTorch's table of operators at the sizes of programs: dtypes, shapes, errors, and results whose
error is that of PyTorch.

Some of its entries are drawn, `DOVETAIL_CALLS=600` takes all of them; `DOVETAIL_FIRST_CALL=7` makes
other calls. Entries whose larger samples say nothing are in `real_sizes`.
"""

from __future__ import annotations

import os
import random
import warnings

import numpy as np
import pytest
import torch

pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

from exactness import different
from op_db_checks import entries
from real_sizes import LEFT_OUT, difference, names, real_call

import dovetail

CALLS = int(os.environ.get("DOVETAIL_CALLS", "100"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))


def drawn() -> list[str]:
    """Return the entries that are called."""
    known = names()
    return known if len(known) <= CALLS else random.Random(FIRST).sample(known, CALLS)


@pytest.mark.cpu_only(reason="the sizes are those of the kernels of the cpu")
def test_results_at_real_sizes_are_as_exact_as_those_of_pytorch() -> None:
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in drawn():
            call = real_call(name, FIRST)
            found = "" if call is None else difference(call)
            if found and call is not None:
                wrong.append(f"{call.text}\n  {found}")
    assert not wrong, "\n".join(wrong)


def test_what_is_left_out_is_in_the_table_and_has_a_reason() -> None:
    known = {part for name, each in entries().items() for part in (name, each.name)}
    known |= {each.rpartition(".")[2] for each in known}
    assert not LEFT_OUT.keys() - known
    assert all(LEFT_OUT.values())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda x: x + 1e-5, "off by"),
        (lambda x: x.double(), "dtype float64, not float32"),
        (lambda x: x[:-1], "shape"),
        (lambda x: x.where(x < 0.9, dovetail.nan), "nan, not"),
        (lambda x: x.clone(), ""),
    ],
)
def test_a_difference_is_found(changed: object, words: str) -> None:
    other = torch.arange(1000.0) / 1000
    assert callable(changed)
    found = different(changed(dovetail.arange(1000.0).cpu() / 1000), other, other.double())
    assert bool(found) is bool(words) and words in found
