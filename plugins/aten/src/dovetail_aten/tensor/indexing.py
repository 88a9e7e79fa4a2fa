"""Python indices on tensors: ``x[...]`` and ``x[...] = value`` as calls of view and index
operators.

Integers, slices, ``...`` and ``None`` are views, one operator each; tensors, lists and bools gather
or scatter copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from sys import maxsize
from types import EllipsisType, NoneType
from typing import Any

from dovetail_kernel import TensorBase, dtype_of_signature, int64, uint8, warn_user
from dovetail_kernel import bool as bool_
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import ZERO_DIM
from dovetail_kernel.types import FLOAT

from .._generated import functions as aten
from ..calling.compiled_entries import entry_by
from ..typing import Tensor
from .data.dtype_arguments import check_number
from .data.from_data import tensor
from .data.host_arrays import number_like
from .index_items import check_mask, dimensions_of, index_tensor, position_of, with_tensors

_MAX_LEGACY_SEQUENCE = 32
_SIMPLE = {int, slice}
_VIEWING = {int, slice, NoneType, EllipsisType}
_WHOLE = slice(None)
_ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)


_READING = (aten.select, aten.slice, aten.unsqueeze, aten.alias, aten.index)
_WRITING = (aten.fill__Scalar, aten.fill__Tensor, aten.copy_, aten.index_put_)


@entry_by("read by index", *_READING)
def getitem(self: Tensor, index: Any) -> Any:
    """Return ``self[index]``: a view for basic indices, a copy for advanced ones.

    Raises
    ------
    IndexError
        For an index out of bounds, of another kind, or more indices than dimensions.
    TypeError
        For a slice of something else than integers.
    ValueError
        For a slice with a step below 1.
    """
    cls = index.__class__
    if cls is int:
        shape = self.array.shape
        if not shape or not -shape[0] <= index < shape[0]:
            raise _out_of_bounds(shape, 0, index)
        return aten.select(self, 0, index)
    if cls is slice and not self._signature & ZERO_DIM:
        return _slice(self, 0, index)
    view = _viewed(self, index if cls is tuple else (index,))
    if view is None:
        try:
            view, indices = _parted(self, index)
        except Exception as error:
            shorten_traceback(error)
            raise
        if indices:
            return aten.index(view, indices)
    return aten.alias(self) if view is self else view


def _viewed(self: Any, items: tuple[Any, ...]) -> Any | None:
    """Return the view that ints, slices, None and one ``...`` select, or `self`; None for others,
    and for those that do not fit.
    """
    if not _VIEWING.issuperset(map(type, items)):
        return None
    view, dim = self, 0
    ellipses = items.count(...)
    left_out = len(self.array.shape) + items.count(None) + ellipses - len(items)
    if left_out < 0 or ellipses > 1:
        return None
    for item in items:
        if item.__class__ is int:
            size = view.array.shape[dim]
            if not -size <= item < size:
                return None
            view = aten.select(view, dim, item)
        elif item is None:
            view = aten.unsqueeze(view, dim)
            dim += 1
        elif item is ...:
            dim += left_out
        else:
            if item != _WHOLE:
                view = _slice(view, dim, item, keep=True)
            dim += 1
    return view


@entry_by("write by index", *_READING, *_WRITING)
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Do ``self[index] = value``, with `value` broadcast and cast to what it replaces.

    Parameters
    ----------
    self, index
        As for `getitem`.
    value
        A Python number, or a tensor; for advanced indices a tensor of the same dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `getitem`; TypeError also for a value of another kind.
    RuntimeError
        For a value that does not broadcast to what it would replace.
    """
    if not isinstance(value, TensorBase | int | float | complex):
        cls = type(value)
        if hasattr(cls, "__index__") and not hasattr(cls, "__len__"):  # an integer of NumPy's
            setitem(self, index, as_int(value))
            return
        name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
        raise TypeError(
            f"can't assign a {name} to a {self.type()}. Wrap it: dovetail.tensor(value)."
        )
    cls, indices = index.__class__, None
    view: Any = getitem(self, index) if cls is int else None
    if cls is tuple:
        view = _viewed(self, index)
    if view is None:
        view, indices = _parted(self, index)
    if indices:
        values: Any = value if isinstance(value, TensorBase) else number_like(value, self)
        if values._signature & ZERO_DIM and values._storage is view._storage is not None:
            # A number out of the memory that is written to: it is read first.
            values = aten.clone(values)
        if values._signature & ZERO_DIM and _is_one_mask(indices):
            values = aten.to(values, self.dtype)
        aten.index_put_(view, indices, _without_leading_ones(values, None))
    elif not isinstance(value, TensorBase):
        if value.__class__ is not float or dtype_of_signature(self._signature).category != FLOAT:
            check_number(value, dtype_of_signature(self._signature))
        aten.fill__Scalar(view, value)
    elif value._signature & ZERO_DIM and value._backend is view._backend:
        aten.fill__Tensor(view, value)  # type: ignore[arg-type]
    else:
        shape = view.array.shape
        if value.array.shape != shape:
            value = _without_leading_ones(value, shape)
            _check_expandable(value, shape)
        aten.copy_(view, value)


def _is_one_mask(indices: Sequence[Any]) -> bool:
    """Return whether one mask is all there is: then PyTorch fills, and casts what it fills with."""
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype in (bool_, uint8)


def _as_tuple(index: Sequence[object]) -> tuple[Any, ...]:
    """Return a sequence as a tuple of indices of dimensions."""
    if isinstance(index, tuple):
        return index
    if not _is_legacy_tuple(index):
        return (index,)
    warn_user(
        "Using a non-tuple sequence for multidimensional indexing is deprecated: use "
        "x[tuple(seq)] instead of x[seq], or x[dovetail.tensor(seq)] for an index tensor."
    )
    return tuple(index)


def _is_legacy_tuple(index: Sequence[object]) -> bool:
    """Return whether a sequence means a tuple of indices, as it did in old NumPy: it is short and
    not all numbers.
    """
    return len(index) < _MAX_LEGACY_SEQUENCE and any(
        [
            item is None or item is Ellipsis or isinstance(item, slice | TensorBase | Sequence)
            for item in index
        ]
    )


def _parted(self: Any, index: Any) -> tuple[Any, list[Any]]:
    """Return what `_apply_basic` returns for any index: for tensors of places and whole dimensions,
    or one mask, which most are, without looking for others.
    """
    if isinstance(index, TensorBase):
        if index._backend is self._backend and not (index._signature | self._signature) & ZERO_DIM:
            dtype, shape = dtype_of_signature(index._signature), index.array.shape
            if dtype is int64 or (dtype is bool_ and self.array.shape[: len(shape)] == shape):
                return self, [index]
        return _apply_basic(self, (index,))
    if not isinstance(index, Sequence):
        return _apply_basic(self, (index,))
    items = with_tensors(_as_tuple(index), self.device)
    indices = _places(self, items)
    return _apply_basic(self, items) if indices is None else (self, indices)


def _places(self: Any, items: tuple[object, ...]) -> list[Any] | None:
    """Return the tensors of places in `items` by dimension, None for what is kept whole; None if
    there is anything else.
    """
    listed: list[Any] = []
    length = 0
    for item in items:
        if item.__class__ is slice and item == _WHOLE:
            listed.append(None)
        elif (
            isinstance(item, TensorBase)
            and item._backend is self._backend
            and not item._signature & ZERO_DIM
            and dtype_of_signature(item._signature) is int64
        ):
            listed.append(item)
            length = len(listed)
        else:
            return None
    return listed[:length] if length and len(listed) <= len(self.array.shape) else None


def _apply_basic(self: Any, items: tuple[object, ...]) -> tuple[Any, list[Any]]:
    """Apply the basic indices of `items` (no lists) as views; return the view, and the index
    tensors by dimension of it.

    The list is empty if there are no index tensors; otherwise None stands for a dimension that is
    kept whole.
    """
    device = None if _VIEWING.issuperset(map(type, items)) else self.device
    given = sum([1 if i.__class__ in _SIMPLE else dimensions_of(i) for i in items])
    ndim = len(self.array.shape)
    if given > ndim:
        if not ndim and len(items) == 1 and not isinstance(items[0], TensorBase | Sequence):
            raise IndexError(_ZERO_DIM)
        raise IndexError(
            f"too many indices for tensor of dimension {ndim}: {given} are given. Leave some out."
        )
    view = self
    dim = added = 0
    indices: dict[int, Any] = {}
    for item in items:
        if item is Ellipsis:
            dim += ndim - given
        elif item is None:
            view = aten.unsqueeze(view, dim)
            dim += 1
            added += 1
        elif isinstance(item, slice):
            view = _slice(view, dim, item, keep=True)
            dim += 1
        elif isinstance(item, bool):
            view = aten.unsqueeze(view, dim)
            indices[dim] = tensor([item], device=device)
            dim += 1
            added += 1
        elif (position := position_of(item)) is not None:
            shape = view.array.shape
            if not -shape[dim] <= position < shape[dim]:
                raise _out_of_bounds(self.array.shape, dim + ndim - len(shape) + added, position)
            view = aten.select(view, dim, position)
        else:
            mask = index_tensor(item, device)
            if mask.is_cpu and not view.is_cpu:
                mask = mask.to(view.device)
            own = dtype_of_signature(mask._signature)
            if own is bool_ or own is uint8:
                if mask._signature & ZERO_DIM:
                    view = aten.unsqueeze(view, dim)
                    mask = aten.unsqueeze(mask, 0)
                    added += 1
                else:
                    check_mask(mask, view, dim)
                indices[dim] = mask
                dim += max(mask.dim(), 1)
            else:
                indices[dim] = mask
                dim += 1
    if not indices:
        return view, []
    listed: list[Any] = []
    for position in sorted(indices):
        # A mask takes as many dimensions as it has, but one place in the list.
        taken = sum(
            max(m.dim(), 1) - 1 for m in listed if m is not None and m.dtype in (bool_, uint8)
        )
        listed += [None] * (position - taken - len(listed))
        listed.append(indices[position])
    return view, listed


def _slice(view: Tensor, dim: int, item: slice, keep: bool = False) -> Any:
    """Return what a slice takes of a dimension; with `keep`, `view` itself if that is all of it."""
    start, stop, step = item.start, item.stop, item.step
    try:
        start = 0 if start is None else as_int(start)
        stop = maxsize if stop is None else as_int(stop)
        step = 1 if step is None else as_int(step)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError(
            f"step must be greater than zero, but got {step}. Reverse a dimension with flip(x, "
            f"[{dim}])."
        )
    if keep and step == 1 and not start and stop >= view.array.shape[dim]:
        return view
    return aten.slice(view, dim, start, stop, step)


def _without_leading_ones(value: Any, shape: tuple[int, ...] | None) -> Any:
    """Return `value` without leading dimensions of size 1 that its destination does not have (all,
    if not given).
    """
    sizes = value.array.shape
    extra = len(sizes) - (0 if shape is None else len(shape))
    while extra > 0 and sizes and sizes[0] == 1:
        value = aten.select(value, 0, 0)
        sizes = value.array.shape
        extra -= 1
    return value


def _check_expandable(value: Any, shape: tuple[int, ...]) -> None:
    """Raise an error for a value that does not broadcast to the part that it replaces."""
    sizes = tuple(value.array.shape)
    extra = len(shape) - len(sizes)
    if extra < 0:
        raise RuntimeError(
            f"expand({value.type()}{{{list(sizes)}}}, size={list(shape)}): the number of sizes "
            f"provided ({len(shape)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(sizes)})"
        )
    for dim in reversed(range(len(sizes))):
        if sizes[dim] not in (1, shape[dim + extra]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[dim + extra]}) must match the existing "
                f"size ({sizes[dim]}) at non-singleton dimension {dim + extra}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(sizes)}"
            )


def _out_of_bounds(shape: tuple[int, ...], dim: int, position: int) -> IndexError:
    if not shape:
        return IndexError(_ZERO_DIM)
    size = shape[dim]
    return IndexError(f"index {position} is out of bounds for dimension {dim} with size {size}")


for _method, _name in ((getitem, "__getitem__"), (setitem, "__setitem__")):
    _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
