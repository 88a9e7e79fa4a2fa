"""Comparisons, logic and bits."""

from __future__ import annotations

from typing import Any

from dovetail_kernel.types.dtype import FLOAT

from .capabilities import Capabilities
from .operands import Numbers
from .table import Function, KernelTable

_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers = Numbers(capabilities)

    def with_number(function: Function) -> Function:
        def compute(self: Any, other: Any) -> Any:
            return function(*numbers.pair(self, other))

        return compute

    for name, function in _COMPARISONS.items():
        kernel(f"{name}.Tensor", getattr(xp, function))
        kernel(f"{name}.Scalar", with_number(getattr(xp, function)))
    for name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
        kernel(name, getattr(xp, name))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        function = getattr(xp, name)
        kernel(f"{name}.Tensor", function, into=function)
        kernel(f"{name}.Scalar", with_number(function))
    kernel("bitwise_not", xp.invert, into=xp.invert)

    @kernel.named("equal")
    def equal(self: Any, other: Any) -> bool:
        return tuple(self.shape) == tuple(other.shape) and bool(xp.all(self == other))

    @kernel.named("allclose")
    def allclose(
        self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> bool:
        if self.dtype != other.dtype:
            names = [capabilities.dtypes[each.dtype].scalar_name for each in (self, other)]
            raise RuntimeError(
                f"{names[0]} did not match {names[1]}: allclose compares tensors of one dtype. "
                "Convert one."
            )
        close = self == other
        if equal_nan:
            close = xp.logical_or(close, xp.logical_and(self != self, other != other))
        if capabilities.dtypes[self.dtype].category < FLOAT:
            other = other.astype(xp.float64)
        allowed = xp.absolute(other) * rtol + atol
        near = xp.logical_and(xp.absolute(self - other) <= allowed, xp.isfinite(allowed))
        return bool(xp.all(xp.logical_or(close, near)))
