"""New tensors like others, and conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.backend.backend_select import check_layout
from dovetail_kernel import (
    DeviceLike,
    Layout,
    MemoryFormat,
    TensorBase,
    contiguous_format,
    int64,
    preserve_format,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

from ...typing import Tensor


def zeros_like(
    self: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **options: Any
) -> Any:
    """Return zeros in the shape of `self`; dtype and device default to its own."""
    if in_c_order(self, memory_format):
        return new_zeros(self, tuple(self.shape), dtype=dtype, device=device)
    return F.zero_(F.empty_like(self, dtype=dtype, device=device, memory_format=memory_format))


def ones_like(
    self: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **options: Any
) -> Any:
    """Return ones in the shape of `self`; dtype and device default to its own."""
    if in_c_order(self, memory_format):
        return new_ones(self, tuple(self.shape), dtype=dtype, device=device)
    return F.fill_(F.empty_like(self, dtype=dtype, device=device, memory_format=memory_format), 1)


def full_like(
    self: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = None,
    **options: Any,
) -> Any:
    """Return a tensor full of `fill_value` in the shape of `self`; dtype and device default to its
    own.
    """
    if in_c_order(self, memory_format):
        return new_full(self, tuple(self.shape), fill_value, dtype=dtype, device=device)
    made = F.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
    return F.fill_(made, fill_value)


def new_zeros(
    self: Any, size: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any
) -> Any:
    """Return zeros of shape `size`; dtype and device default to those of `self`."""
    return F.zeros(size, dtype=dtype or self.dtype, device=device or self.device)


def new_ones(
    self: Any, size: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any
) -> Any:
    """Return ones of shape `size`; dtype and device default to those of `self`."""
    return F.ones(size, dtype=dtype or self.dtype, device=device or self.device)


def new_full(
    self: Any,
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    **options: Any,
) -> Any:
    """Return a tensor of shape `size` full of `fill_value`; dtype and device default to those of
    `self`.
    """
    return F.full(size, fill_value, dtype=dtype or self.dtype, device=device or self.device)


def new_empty(
    self: Any, size: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any
) -> Any:
    """Return an uninitialised tensor of shape `size`; dtype and device default to those of
    `self`.
    """
    return F.empty(size, dtype=dtype or self.dtype, device=device or self.device)


def new_empty_strided(
    self: Any,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Any = None,
    device: Any = None,
    **options: Any,
) -> Any:
    """Return an uninitialised tensor of shape `size` with the strides `stride`; dtype and device
    default to those of `self`.
    """
    return F.empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device)


def to_dtype(
    self: Any,
    dtype: DType | None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Any:
    """Return `self` converted to `dtype`; itself if nothing changes."""
    if not copy and self.dtype is dtype and is_laid_out(self, memory_format):
        return self
    return F._to_copy(self, dtype=dtype, non_blocking=non_blocking, memory_format=memory_format)


def to_device(
    self: Any,
    device: Any,
    dtype: Any,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return `self` on `device`, converted to `dtype`; itself if nothing changes."""
    if (
        not copy
        and self.dtype is dtype
        and is_on(self, device)
        and is_laid_out(self, memory_format)
    ):
        return self
    return F._to_copy(
        self, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=memory_format
    )


def to_other(
    self: Any,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Any:
    """Return `self` with the dtype and device of `other`; itself if nothing changes."""
    return to_device(self, other.device, other.dtype, non_blocking, copy, memory_format)


def to_dtype_layout(
    self: Any,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: object = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Any:
    """Return `self` converted to `dtype` and on `device`, where they are given; itself if nothing
    changes.
    """
    if layout is not None:
        check_layout("to", layout)
    own = self.device if device is None else device, self.dtype if dtype is None else dtype
    return to_device(self, *own, non_blocking, copy, memory_format)


def in_c_order(like: Tensor, memory_format: MemoryFormat | None) -> bool:
    """Return whether a new tensor like another lies in C order: as that one does, or as asked."""
    return memory_format is contiguous_format or (
        (memory_format is None or memory_format is preserve_format)
        and like._backend.arrays.is_contiguous(like.array)
    )


def is_laid_out(tensor: Tensor, memory_format: MemoryFormat | None) -> bool:
    """Return whether a conversion leaves `tensor` where it lies: no other order is asked for."""
    return (
        memory_format is None
        or memory_format is preserve_format
        or tensor.is_contiguous(memory_format=memory_format)
    )


def is_on(tensor: Tensor, device: DeviceLike | None) -> bool:
    """Return whether `tensor` is on `device`; a device without index means any of its kind."""
    own, wanted = str(tensor.device), str(device)
    return own == wanted or (":" not in wanted and own.partition(":")[0] == wanted)


def one_hot(self: Any, num_classes: int = -1) -> Any:
    """Return vectors with a one at the place that each class index names."""
    if self.dtype is not int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {self.dtype}. "
            "Convert it: x.long()."
        )
    if not self._backend.is_device:  # inside of a transform, where the values cannot be looked at
        if num_classes < 1:
            raise RuntimeError(
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
                "num_classes argument."
            )
        return F.scatter(
            F.new_zeros(self, (*self.shape, num_classes)), -1, F.unsqueeze(self, -1), 1
        )
    if num_classes == -1:
        if self.numel() == 0:
            raise RuntimeError(
                "Can not infer total number of classes from empty tensor. Give num_classes."
            )
        num_classes = int(F.item(F.amax(self))) + 1
    if self.numel() and not self._backend.arrays.launches_kernels:  # they check indices themselves
        if int(F.item(F.amin(self))) < 0:
            raise RuntimeError("Class values must be non-negative. Subtract their minimum.")
        if int(F.item(F.amax(self))) >= num_classes:
            raise RuntimeError(
                "Class values must be smaller than num_classes. Give a larger num_classes."
            )
    result = F.new_zeros(self, (*self.shape, num_classes))
    return F.scatter(result, -1, F.unsqueeze(self, -1), 1)


def fill(self: Any, value: Any) -> Any:
    """Return a tensor like `self` with `value`, a number or a tensor of one, in every place."""
    if not isinstance(value, TensorBase):
        return F.full_like(self, value)
    if value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
            "dimensions. Use expand."
        )
    everywhere = F.ones((), dtype=bool_, device=self.device)
    number: Any = value
    return F.masked_fill(F.zeros_like(self), everywhere, number)
