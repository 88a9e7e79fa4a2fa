"""Comparisons, logic and bits."""

from __future__ import annotations

from typing import ClassVar

from dovetail_kernel.types import FLOAT

from ....kernel_support.family import Family, operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array


def check_tolerances(rtol: float, atol: float) -> None:
    """Raise an error for negative tolerances, and NaN. Raises RuntimeError with PyTorch's
    message.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {value}. Give a positive "
                "one."
            )


class Comparison(Family):
    """Comparisons, logic and bits."""

    functions: ClassVar = {
        "eq.Tensor": "equal",
        "ne.Tensor": "not_equal",
        "lt.Tensor": "less",
        "le.Tensor": "less_equal",
        "gt.Tensor": "greater",
        "ge.Tensor": "greater_equal",
    }
    functions_with_out: ClassVar = {
        "bitwise_and.Tensor": "bitwise_and",
        "bitwise_or.Tensor": "bitwise_or",
        "bitwise_xor.Tensor": "bitwise_xor",
        "bitwise_not": "invert",
    }

    functions_of_numbers: ClassVar = {
        "eq.Scalar": "equal",
        "ne.Scalar": "not_equal",
        "lt.Scalar": "less",
        "le.Scalar": "less_equal",
        "gt.Scalar": "greater",
        "ge.Scalar": "greater_equal",
        "bitwise_and.Scalar": "bitwise_and",
        "bitwise_and.Scalar_Tensor": "bitwise_and",
        "bitwise_or.Scalar": "bitwise_or",
        "bitwise_or.Scalar_Tensor": "bitwise_or",
        "bitwise_xor.Scalar": "bitwise_xor",
        "bitwise_xor.Scalar_Tensor": "bitwise_xor",
    }

    @operator("equal")
    def equal(self, x: Array, other: Array) -> bool:
        """Return whether two arrays have the same shape and elements. Looks at values: the result
        is a bool.
        """
        return tuple(x.shape) == tuple(other.shape) and bool(self.xp.all(x == other))

    @operator("allclose")
    def allclose(
        self,
        x: Array,
        other: Array,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
    ) -> bool:
        """Return whether ``abs(x - other) <= atol + rtol * abs(other)`` everywhere. Looks at
        values: the result is a bool.
        """
        xp = self.xp
        if x.dtype != other.dtype:
            names = [self.dtypes[each.dtype].scalar_name for each in (x, other)]
            raise RuntimeError(
                f"{names[0]} did not match {names[1]}: allclose compares tensors of one dtype. "
                "Convert one."
            )
        check_tolerances(rtol, atol)
        broadcast_shapes([x.shape, other.shape])
        close = x == other
        if equal_nan:
            close = xp.logical_or(close, xp.logical_and(x != x, other != other))
        if self.dtypes[x.dtype].category < FLOAT:
            x, other = x.astype(xp.float64), other.astype(xp.float64)
        allowed = xp.absolute(other) * rtol + atol
        away = xp.absolute(x - other)
        near = xp.logical_and(away <= allowed, xp.isfinite(away))
        return bool(xp.all(xp.logical_or(close, near)))
