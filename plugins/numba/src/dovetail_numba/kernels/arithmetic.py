"""Sums of products, and transcendental functions."""

from __future__ import annotations

from typing import Any

from .covering import over
from .dense_arrays import SINGLE, elementwise

_ONE_PASS = 0.3
"""Nanoseconds an element in loops that are bound by the memory."""


def _of_singles(name: str, *, least: int, cost: float) -> None:
    """Put a loop over the operator that has its name, in single precision."""

    def large(below: Any, x: Any, out: Any = None) -> Any:
        made = elementwise(name, (x,), (), cost, out) if x.dtype == SINGLE else None
        return below(x) if made is None else made

    large.__name__ = large.__qualname__ = name
    large.__doc__ = f"Return `{name}` of every element, if it is in single precision."
    over(name, least=least, writes=True)(large)


for _name, _least, _cost in (
    ("exp", 16384, 0.7),
    ("expm1", 512, 1.0),
    ("log1p", 512, 1.5),
    ("erf", 256, 0.6),
    ("erfc", 256, 3.0),
    ("atan", 16384, 1.0),
    ("rsqrt", 8192, 0.5),
):
    _of_singles(_name, least=_least, cost=_cost)


@over("logit", least=1024)
def logit(below: Any, x: Any, eps: float | None = None) -> Any:
    """Return ``log(x / (1 - x))``."""
    made = None
    if eps is None and x.dtype == SINGLE:
        made = elementwise("logit", (x,), (), 1.5)
    return below(x, eps) if made is None else made


@over("add.Tensor", least=16384)  # in place BLAS is faster
def add(below: Any, x: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Return ``x + alpha * other``."""
    made = None
    if alpha != 1 and isinstance(alpha, (int, float)):
        made = elementwise("add_scaled", (x, other), (alpha,), _ONE_PASS)
    return below(x, other, alpha=alpha) if made is None else made


@over("addcmul", least=16384, writes=True)
def addcmul(
    below: Any, x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
) -> Any:
    """Return ``x + value * tensor1 * tensor2``."""
    made = None
    if isinstance(value, (int, float)):
        made = elementwise("addcmul", (x, tensor1, tensor2), (value,), _ONE_PASS, out)
    return below(x, tensor1, tensor2, value=value) if made is None else made


@over("addcdiv", least=16384, writes=True)
def addcdiv(
    below: Any, x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
) -> Any:
    """Return ``x + value * tensor1 / tensor2``."""
    made = None
    if isinstance(value, (int, float)):
        made = elementwise("addcdiv", (x, tensor1, tensor2), (value,), _ONE_PASS, out)
    return below(x, tensor1, tensor2, value=value) if made is None else made


@over("lerp.Scalar", least=4096, writes=True)
def lerp(below: Any, x: Any, end: Any, weight: Any, out: Any = None) -> Any:
    """Return ``x + weight * (end - x)``, from the nearer end."""
    made = None
    if isinstance(weight, (int, float)):
        name = "lerp_near" if abs(weight) < 0.5 else "lerp_far"
        made = elementwise(name, (x, end), (weight,), _ONE_PASS, out)
    return below(x, end, weight) if made is None else made
