"""Elementwise operators whose dtype does not follow from their promotion."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import get_default_dtype, int32

from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.meta_array import MetaArray
from ...meta.table import broadcast_result, dense_like, float_of
from ...typing import Scalar


def where(condition: MetaArray, self: Any, other: MetaArray) -> MetaArray:
    # The operator has two tensors of one dtype; derivative formulas over arrays put a number in
    # place of one.
    chosen = [value for value in (self, other) if isinstance(value, MetaArray)]
    return broadcast_result([condition, *chosen], chosen[0].dtype)


def masked_fill(self: MetaArray, mask: MetaArray, value: Scalar) -> MetaArray:
    return MetaArray(broadcast_shapes([self.shape, mask.shape]), self.dtype)  # in C order


def rsub(self: MetaArray, other: Any, *, alpha: object = 1) -> MetaArray:
    return broadcast_result([other, self] if isinstance(other, MetaArray) else [self], self.dtype)


def div_mode(self: MetaArray, other: Any, *, rounding_mode: str | None) -> MetaArray:
    arrays = [self, other] if isinstance(other, MetaArray) else [self]
    return broadcast_result(arrays, self.dtype if rounding_mode else float_of(self.dtype))


def frexp(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    if self.dtype.category != 2:
        raise RuntimeError(
            "torch.frexp() only supports floating-point dtypes. Convert the tensor first."
        )
    return dense_like(self), dense_like(self, int32)


def angle(self: MetaArray) -> MetaArray:
    own = self.dtype.to_real()
    return broadcast_result([self], own if own.category == 2 else get_default_dtype())
