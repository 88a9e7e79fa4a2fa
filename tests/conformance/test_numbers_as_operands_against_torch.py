"""Python numbers as first or second operand of every function of two tensors: which of them are
refused, and the dtypes of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import dovetail

NUMBERS = (True, 1, 1.5, 1j)
KINDS = ("bool", "uint8", "int64", "float32", "float64", "complex64")
ACCEPTED = {"isin", "searchsorted", "bucketize"}
"""Look up elements of every dtype, which PyTorch does not: `call_refusals_allowed.py`."""


def _is_of_two_tensors(overload: Any) -> bool:
    schema = overload._schema
    first, rest = schema.arguments[:2], schema.arguments[2:]
    return (
        not schema.is_mutable
        and [str(each.type) for each in first] == ["Tensor", "Tensor"]
        and all([each.has_default_value() for each in rest])
    )


def _names() -> Iterator[str]:
    for name in dir(dovetail.ops.aten):
        packet = getattr(dovetail.ops.aten, name)
        overloads = [getattr(packet, each) for each in packet.overloads()]
        is_shared = hasattr(torch, name) and hasattr(dovetail, name) and not name.startswith("_")
        if is_shared and any([_is_of_two_tensors(each) for each in overloads]):
            yield name


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        made = call()
    except (RuntimeError, TypeError, ValueError, IndexError):
        return "refused"
    results = made if isinstance(made, tuple | list) else [made]
    return [(str(each.dtype).split(".")[-1], tuple(each.shape)) for each in results]


def _outcomes(lib: Any, name: str, number: complex, kind: str, shape: tuple[int, ...]) -> list[Any]:
    x = lib.ones(shape, dtype=getattr(lib, kind))
    function = getattr(lib, name)
    return [_outcome(lambda: function(number, x)), _outcome(lambda: function(x, number))]


@pytest.mark.parametrize("name", sorted({*_names()} - ACCEPTED))
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_refused_as_by_pytorch(name: str, number: complex) -> None:
    for kind in KINDS:
        for shape in ((2,), ()):
            found, expected = [
                _outcomes(lib, name, number, kind, shape) for lib in (dovetail, torch)
            ]
            if name == "pow" and number is True and kind == "bool":
                expected[1] = "refused"  # PyTorch copies the operand, whatever its dtype
            assert found == expected, (kind, shape)


@pytest.mark.parametrize("call", ("sub", "subtract", "ops.aten.sub", "ops.aten.sub.Tensor"))
@pytest.mark.parametrize("options", ({}, {"alpha": 2}, {"alpha": True}))
def test_nothing_is_subtracted_from_a_bool(call: str, options: dict[str, Any]) -> None:
    for lib in (dovetail, torch):
        function: Any = lib
        for part in call.split("."):
            function = getattr(function, part)
        for kind in KINDS:
            with pytest.raises(RuntimeError):
                function(True, lib.ones(2, dtype=getattr(lib, kind)), **options)
        with pytest.raises(RuntimeError):
            function(True, lib.ones(2, requires_grad=True), **options)
        with pytest.raises(RuntimeError):
            lib.func.grad(lambda x, f=function: f(True, x, **options).sum())(lib.ones(2))
