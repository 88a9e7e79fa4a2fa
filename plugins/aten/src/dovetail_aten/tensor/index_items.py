"""What stands in a Python index for one dimension or more: integers, and tensors of places or masks
in all their forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from types import EllipsisType, NoneType
from typing import Any

from dovetail_kernel import DeviceLike, TensorBase, backend_of_array, int32, int64, uint8, warn_user
from dovetail_kernel import bool as bool_
from dovetail_kernel.signature import ZERO_DIM
from dovetail_kernel.types import INT

from .data.from_data import tensor
from .data.host_arrays import from_host

_NO_LISTS = (TensorBase, slice, int, str, NoneType, EllipsisType)
"""What needs no slow look at whether it is a sequence that stands for a tensor."""


def with_tensors(items: tuple[object, ...], device: DeviceLike | None) -> tuple[Any, ...]:
    """Return indices with tensors on `device` in place of lists and other sequences."""
    return tuple(
        [
            item
            if isinstance(item, _NO_LISTS) or not isinstance(item, Sequence)
            else index_tensor(item, device)
            for item in items
        ]
    )


def dimensions_of(item: Any) -> int:
    """Return how many dimensions of a tensor an index takes up, which is not a list."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, TensorBase):
        return item.dim() if item.dtype is bool_ or item.dtype is uint8 else 1
    if getattr(getattr(item, "dtype", None), "kind", "") == "b":
        return len(item.shape)
    return 1


def position_of(item: Any) -> int | None:
    """Return the integer that `item` is: an int, a NumPy integer or a 0-d integer tensor; None for
    anything else.
    """
    if isinstance(item, TensorBase):
        # Inside of a transform there is a value per sample, which an index operator reads.
        single = (
            item._signature & ZERO_DIM
            and item.dtype.category == 1
            and item.dtype is not uint8
            and item._backend.is_device
        )
        return int(item.item()) if single else None  # type: ignore[attr-defined]
    if isinstance(item, Sequence) or getattr(item, "ndim", None):
        return None
    try:
        return as_int(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})"
        ) from None


def index_tensor(item: object, device: DeviceLike | None) -> Any:
    """Return a tensor, a list (as a tensor on `device`) or a host array as a tensor of indices.
    Raises IndexError for a tensor of another dtype than int64, int32, uint8 and bool, and TypeError
    for a sequence of something else than numbers.
    """
    if isinstance(item, str):
        raise TypeError(
            "new(): invalid data type 'str': a tensor is indexed by integers, slices, ..., None "
            "and tensors."
        )
    if isinstance(item, TensorBase):
        found: Any = item
    elif backend_of_array(item) is not None:
        found = from_host(item)
        # Arrays of any integers are indices; one without elements has no dtype that matters.
        if found.dtype not in (uint8, bool_) and (found.dtype.category == INT or not found.numel()):
            found = found.to(int64)
    else:
        found = tensor(item, device=device)
        if found.dtype not in (int64, bool_):
            found = found.to(int64)
    if found.dtype not in (int64, int32, uint8, bool_):
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors, but got "
            f"{found.dtype}. Convert it: index.to(dovetail.int64)."
        )
    if found.dtype is uint8 and not found._signature & ZERO_DIM:
        warn_user("indexing with dtype uint8 is now deprecated, please use a dtype bool instead.")
    return found


def check_mask(mask: Any, view: Any, dim: int) -> None:
    shape = view.array.shape
    for back, size in enumerate(mask.array.shape):
        if shape[dim + back] != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {back} does not match the "
                f"shape of the indexed tensor {list(shape)} at index {dim + back}"
            )
