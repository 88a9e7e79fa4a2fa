"""Writes in place to expanded tensors, several elements of which are one in memory: whatever
PyTorch refuses is refused, and most of what it writes by elements, so that the last result of
several stays, is refused too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
import torch

import dovetail

pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

from op_db_checks import entries, twin_of

WRITTEN = {
    *("masked_fill", "index_fill", "index_put"),  # with a warning that this is deprecated
    *("tril", "triu", "addmv", "baddbmm"),
    *("conj_physical", "nan_to_num"),  # of dtypes that they do not change
}
"""Operators whose in-place form writes to expanded memory in PyTorch, and not here."""

MOST = 5


def _expanded(tensor: Any) -> Any:
    """Return a tensor of the same shape whose elements along a dimension are one, and writable."""
    return tensor.detach().clone()[:1].expand(tensor.shape)


def _samples(name: str) -> Iterator[Any]:
    for entry in [each for each in entries().values() if each.name == name]:
        for dtype in entry.dtypes & {torch.float32, torch.int64}:
            made = entry.sample_inputs("cpu", dtype, requires_grad=False)
            for sample in islice(made, MOST):
                own = sample.input
                is_wide = isinstance(own, torch.Tensor) and own.ndim and own.shape[0] > 1
                if is_wide and own.numel() and not sample.broadcasts_input:
                    yield sample


def _outcome(name: str, sample: Any) -> Any:
    written = _expanded(sample.input)
    try:
        getattr(written, name)(*sample.args, **sample.kwargs)
    except (RuntimeError, TypeError):
        return "refused"
    return written.tolist()


def _names() -> list[str]:
    writing = [each for each in entries().values() if each.inplace_variant is not None]
    return sorted({each.name for each in writing if hasattr(dovetail.Tensor, f"{each.name}_")})


@pytest.mark.cpu_only(reason="memory is expanded with stride 0 on the CPU")
@pytest.mark.parametrize("name", _names())
def test_what_pytorch_refuses_to_write_is_refused(name: str) -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [
            (_outcome(f"{name}_", twin_of(each)), _outcome(f"{name}_", each))
            for each in _samples(name)
        ]
    different = [(ours, theirs) for ours, theirs in outcomes if ours != theirs]
    assert all([ours == "refused" for ours, _ in different])
    assert bool(different) == (name in WRITTEN)


FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "fill_": lambda lib, x: x.fill_(2),
    "zero_": lambda lib, x: x.zero_(),
    "a row": lambda lib, x: x.__setitem__(0, 5.0),
    "copy_": lambda lib, x: x.copy_(lib.ones(3, 2)),
    "a slice": lambda lib, x: x.__setitem__(slice(None), lib.arange(6.0).view(3, 2)),
    **{
        name: lambda lib, x, name=name: getattr(x, name)()
        for name in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_")
    },
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5, True, True),
    "relu": lambda lib, x: lib.nn.functional.relu_(x),
}


@pytest.mark.cpu_only(reason="memory is expanded with stride 0 on the CPU")
@pytest.mark.parametrize("name", FILLS)
def test_fills_of_expanded_memory(name: str) -> None:
    found = []
    for lib in (dovetail, torch):
        x = lib.ones(1, 2).expand(3, 2)
        try:
            FILLS[name](lib, x)
        except RuntimeError as error:
            found.append("more than one element" in str(error))
        else:
            found.append(x.tolist())
    assert found[0] == found[1]
