"""Pointwise operators: the operands broadcast, and the dtype follows from the promotion rule of the
operator.
"""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import bool as bool_
from dovetail_kernel import get_default_dtype

from .meta_array import MetaArray
from .rules import Rules
from .table import Rule, elementwise, float_of

EXPLICIT = Rules()
"""Rules of pointwise operators that do not follow from their promotion."""


def pointwise_rule(op: Operator) -> Rule:
    """Return the rule of a pointwise operator, whose operands come with one dtype already."""
    promotion = op.promotion

    def rule(*args: Any, **options: Any) -> MetaArray:
        arrays = [value for value in (*args, *options.values()) if isinstance(value, MetaArray)]
        dtype = arrays[0].dtype
        if promotion == "bool_result":
            dtype = bool_
        elif promotion == "complex_to_real":
            dtype = dtype.to_real()
        elif promotion == "int_to_float":
            dtype = float_of(dtype)
        return elementwise(arrays, dtype)

    return rule


@EXPLICIT("where.self")
def _where(condition: MetaArray, self: Any, other: Any) -> MetaArray:
    # The operator has two tensors of one dtype; derivative formulas over arrays put a number in
    # place of one.
    chosen = [value for value in (self, other) if isinstance(value, MetaArray)]
    return elementwise([condition, *chosen], chosen[0].dtype)


@EXPLICIT("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(self: MetaArray, mask: MetaArray, value: Any) -> MetaArray:
    return elementwise([self, mask], self.dtype)


@EXPLICIT("div.Tensor_mode", "div.Scalar_mode")
def _div(self: MetaArray, other: Any, *, rounding_mode: str | None) -> MetaArray:
    arrays = [self, other] if isinstance(other, MetaArray) else [self]
    return elementwise(arrays, self.dtype if rounding_mode else float_of(self.dtype))


@EXPLICIT("angle")
def _angle(self: MetaArray) -> MetaArray:
    own = self.dtype.to_real()
    return elementwise([self], own if own.category == 2 else get_default_dtype())
