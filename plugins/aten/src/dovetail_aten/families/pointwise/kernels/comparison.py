"""Comparisons, logic and bits."""

from __future__ import annotations

from typing import ClassVar

from ....kernel_support.family import Family, operator
from ....typing import Array


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
