"""Python's operators between tensors and anything else do the same on PyTorch and on Dovetail: what
is no operand is asked itself.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "&",
    "|",
    "^",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
]
IN_PLACE = ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^="]
VALUES: dict[str, Any] = {
    "text": "a",
    "none": None,
    "object": object(),
    "list": [1, 2],
    "decimal": Decimal(1),
    "fraction": Fraction(1, 2),
    "int64": np.int64(3),
    "float32": np.float32(2.5),
}


class Quantity:
    """A number with a unit, which takes part in the arithmetic of any tensor."""

    def _left(self, other: Any) -> tuple[str, str]:
        return "left", type(other).__name__

    def _right(self, other: Any) -> tuple[str, str]:
        return "right", type(other).__name__

    __hash__ = None  # type: ignore[assignment]
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = (
        _left
    )
    __and__ = __or__ = __xor__ = __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _left  # type: ignore[assignment]
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _right
    __rmatmul__ = __rand__ = __ror__ = __rxor__ = _right


VALUES["quantity"] = Quantity()


def outcome(source: str, library: Any, value: Any, dtype: str) -> Any:
    names = {"x": library.ones(2, dtype=getattr(library, dtype)), "v": value}
    try:
        exec(source, names)
    except Exception as error:
        return type(error).__name__
    result = names["r"] if "r" in names else names["x"]
    return result.tolist() if isinstance(result, library.Tensor) else result


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_an_operator_leaves_what_is_no_operand_to_the_other_side(kind: str, dtype: str) -> None:
    sources = [f"r = x {operator} v" for operator in OPERATORS]
    sources += [f"r = v {operator} x" for operator in OPERATORS]
    sources += [f"x {operator} v" for operator in IN_PLACE]
    differing = []
    for source in sources:
        if kind in ("int64", "float32") and source.startswith("r = v"):
            continue  # NumPy's scalars make an array of the tensor first
        ours, theirs = (outcome(source, lib, VALUES[kind], dtype) for lib in (dovetail, torch))
        if ours != theirs:
            differing.append((source, ours, theirs))
    assert differing == []


@pytest.mark.parametrize("operator", ["==", "!="])
@pytest.mark.parametrize("order", ["x {} v", "v {} x"])
def test_a_comparison_with_an_array_compares_the_elements(operator: str, order: str) -> None:
    """PyTorch does so for ``==``; its ``!=`` is True for any array."""
    x = dovetail.tensor([1.0, 2.0])
    result = eval(order.format(operator), {"x": x, "v": np.array([1.0, 3.0])})
    assert result.tolist() == ([True, False] if operator == "==" else [False, True])


def test_an_overriding_tensor_lets_a_quantity_decide() -> None:
    for library in (dovetail, torch):

        class Own(library.Tensor):  # type: ignore[misc,name-defined]
            pass

        own = library.ones(2).as_subclass(Own)
        assert own + Quantity() == ("right", "Own")
        assert Quantity() + own == ("left", "Own")


def test_a_tensor_that_is_none_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"proper Tensor but got None .* argument #1 'other'"):
        dovetail.add(dovetail.ones(2), None)
