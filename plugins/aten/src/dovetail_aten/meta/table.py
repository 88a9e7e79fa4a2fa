"""The small pieces that rules of the meta device are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import DTYPES, dtype, get_default_dtype

from ..kernel_support.geometry.broadcasting import dense_strides_like, elementwise_layout
from .meta_array import MetaArray

Rule = Callable[..., Any]

OWN_DTYPES: Final = {each: each for each in DTYPES}
"""The dtypes of arrays of this backend: themselves. Checks of kernels ask for them."""


def like(
    array: MetaArray, shape: Sequence[int] | None = None, dtype: dtype | None = None
) -> MetaArray:
    """Return a new contiguous array: of the shape and dtype of `array` unless told otherwise."""
    return MetaArray(array.shape if shape is None else shape, dtype or array.dtype)


def dense_like(array: MetaArray, dtype: dtype | None = None) -> MetaArray:
    """Return a new array of the shape of `array`, its dimensions in the same order in memory."""
    return MetaArray(
        array.shape, dtype or array.dtype, dense_strides_like(array.shape, array.element_strides)
    )


def broadcast_result(arrays: Sequence[MetaArray], dtype: dtype) -> MetaArray:
    """Return the result of an elementwise operator: broadcast, in the memory order of its
    operands.
    """
    shape, strides = elementwise_layout([(array.shape, array.element_strides) for array in arrays])
    return MetaArray(shape, dtype, strides)


def float_of(own: dtype) -> dtype:
    """Return the floating-point dtype that `own` computes in: itself, or the default for integers
    and bools.
    """
    return own if own.category >= 2 else get_default_dtype()
