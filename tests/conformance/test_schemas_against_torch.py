"""Every operator of the base library has PyTorch's schema, tags of mutation, and overloads in
PyTorch's order.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dovetail_aten._generated.registrations import OPERATORS
from dovetail_dispatcher import parse_schema

TEXTS = [
    row[0]
    for row in OPERATORS
    # PyTorch takes no options of a factory beside `out`, draws slopes inside rrelu_with_noise,
    # leaves the steps of an LSTM to oneDNN, has an operator for each kind of border, and none for
    # norms of singular values.
    if not row[0].startswith(
        (
            *("aten::normal.float_float_out", "aten::_slopes_of_rrelu(", "aten::_lstm_sequence("),
            *("aten::_bordered(", "aten::_bordered_backward("),
            *("aten::_linalg_singular_norm", "aten::_linalg_lyapunov("),
        )
    )
]


def overload(text: str) -> Any:
    name, _, overload_name = text.partition("(")[0].removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, name), overload_name or "default")


@pytest.mark.parametrize("text", TEXTS, ids=[text.partition("(")[0] for text in TEXTS])
def test_schema_is_that_of_torch(text: str) -> None:
    assert torch._C.parse_schema(text) == overload(text)._schema


@pytest.mark.parametrize("text", TEXTS, ids=[text.partition("(")[0] for text in TEXTS])
def test_parsed_schema_prints_as_in_torch(text: str) -> None:
    assert str(parse_schema(text)) == str(overload(text)._schema)


def test_functional_overloads_of_a_name_keep_torchs_order() -> None:
    names: dict[str, list[str]] = {}
    for text in TEXTS:
        name, _, overload_name = text.partition("(")[0].removeprefix("aten::").partition(".")
        if not parse_schema(text).is_mutable:
            names.setdefault(name, []).append(overload_name or "default")
    del names["stft"]  # the first is tried first; PyTorch has a function in Python before both
    for name, ours in names.items():
        theirs = [o for o in getattr(torch.ops.aten, name).overloads() if o in ours]
        assert ours == theirs, name
