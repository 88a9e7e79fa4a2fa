"""Writes to tensors whose arrays cannot be written: the tensor gets another array, and so does
every tensor that shares its memory.

Such memory is a value, that of its base. A view notes by which operators it shows the base. A write
to it puts what was written into the base, one operator after another, and shows the new base in
all views: functionalization, where it is needed and only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol
from weakref import ref

from dovetail_kernel import (
    Storage,
    TensorBase,
    replace_array,
    restoring,
    set_state,
    share_storage,
    state,
    tensors_on_storage,
    wrap,
)
from dovetail_kernel.tensor import has_own_storage

from ...sockets import BASE_OPERATORS, VIEW_MAKER


class View(Protocol):
    """A view operator with its arguments, but for the tensor that it is a view of.

    Attributes
    ----------
    shows_all
        Whether it shows every element once.
    """

    shows_all: bool

    def show(self, base: Any) -> Any:
        """Return what the view shows of `base`."""

    def put(self, base: Any, part: Any) -> Any:
        """Return `base` with `part` in place of what the view shows of it."""


Views = tuple[View, ...]


def note_views(
    op: Any, results: Any, source: TensorBase, args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """Record that `results`, a tensor or a list of tensors, are views of `source` by an
    operator.
    """
    storage = source._storage
    assert storage is not None
    views = views_of(source)
    if views is None:
        return
    if views and op.name() in BASE_OPERATORS.plug.strided_views:
        raise NotImplementedError(
            f"{op.name()} of a view: arrays of backend {source._backend.name} have no memory that "
            "strides could tell places of. Take it of a clone(), whose elements lie in order."
        )
    several = isinstance(results, list | tuple)
    noted = _noted(storage)
    for place, result in enumerate(results if several else (results,)):
        made = VIEW_MAKER.plug(op, args, kwargs, place if several else None)
        noted[id(result)] = (ref(result), (*views, made))
    if len(noted) > _MANY and not len(noted) & len(noted) - 1:
        storage.noted_views = {key: note for key, note in noted.items() if note[0]() is not None}


def note_unmarked_views(
    op: Any, results: Any, source: TensorBase, args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """Let `results`, whose memory the schema says to be their own, share that of `source`, and note
    that they are views of it. Each counts its writes by itself.
    """
    for each in results if isinstance(results, list | tuple) else (results,):
        each._storage = share_storage(source)
    note_views(op, results, source, args, kwargs)


def hulls(tensor: TensorBase) -> list[TensorBase]:
    """Return the tensors that `tensor` is a view of, one per view operation, starting with the
    whole memory.
    """
    views, storage = views_of(tensor), tensor._storage
    return _shown_on_the_way(storage, views) if views and storage is not None else []


def _shown_on_the_way(storage: Storage, views: Views) -> list[TensorBase]:
    shown = [wrap(storage.array, storage._backend)]
    for view in views[:-1]:
        shown.append(view.show(shown[-1]))
    return shown


def keep_views(tensor: TensorBase, views: Views) -> None:
    """Record the view operations between the new storage of `tensor` and `tensor`."""
    assert tensor._storage is not None
    _noted(tensor._storage)[id(tensor)] = (ref(tensor), views)


def become(tensor: TensorBase, shown: TensorBase) -> None:
    """Let `tensor`, which has the array of its view `shown` now, share memory by the same views,
    where views are noted; elsewhere its storage remains what it was.
    """
    storage = shown._storage
    if tensor._backend.arrays.mutable_arrays:
        tensor._storage = storage
        return
    if storage is None or not hasattr(storage, "noted_views"):
        return
    views = views_of(shown)
    if views is not None:
        tensor._storage = storage
        keep_views(tensor, views)


_MANY: Final = 64
"""Notes among which those of views that are gone are looked for, whenever their number is a power
of two.
"""


def _noted(storage: Storage) -> dict[int, tuple[ref[TensorBase], Views]]:
    try:
        return storage.noted_views
    except AttributeError:
        storage.noted_views = {}
        return storage.noted_views


def views_of(tensor: TensorBase) -> Views | None:
    """Return the view operations between the storage of `tensor` and `tensor`; None if they are
    unknown.
    """
    storage = tensor._storage
    if storage is None or tensor.array is storage.array:
        return ()
    noted = _noted(storage)
    found = noted.get(id(tensor))
    if found is not None and found[0]() is tensor:
        return found[1]
    # One that was not made by a view operator, such as `x.data`, has the very array of another.
    for reference, views in noted.values():
        other = reference()
        if other is not None and other.array is tensor.array:
            return views
    return None


def replace(tensor: TensorBase, array: Any) -> None:
    """Replace the immutable array of `tensor` instead of writing to it, and update all tensors that
    share its memory.

    Raises
    ------
    RuntimeError
        If the views of the memory are unknown, or the elements of a view share memory.
    """
    if has_own_storage(tensor):
        replace_array(tensor, array)
        return
    storage = tensor._storage
    assert storage is not None
    tensors = tensors_on_storage(storage)
    views = [views_of(each) for each in tensors]
    own = views_of(tensor)
    if own is None or None in views:
        raise RuntimeError(
            "a write in place to memory that several tensors share, of which one does not say how: "
            f"arrays of backend {tensor._backend.name} cannot be written, so it would not see the "
            "write. Use the out-of-place operator, or clone() the tensor first."
        )
    shown = _written(storage, own, array, [each for each in views if each is not None])
    for each, made in zip(tensors, shown, strict=True):
        if each.array is not made:
            each.array = made


@restoring()
def _written(storage: Storage, own: Views, array: Any, views: Sequence[Views]) -> list[Any]:
    """Put `array` into the memory of `storage` where `own` shows it, and return what each of
    `views` shows then.
    """
    backend = storage._backend
    before = state()
    set_state(0)
    bases = _shown_on_the_way(storage, own)
    part = whole = wrap(array, backend)  # an array of the backend's class, which all then show
    for view, base in zip(reversed(own), reversed(bases), strict=False):
        whole = view.put(base, whole)
    shown: dict[Views, TensorBase] = {(): whole}
    for each in views:
        for length in range(1, len(each) + 1):
            if each[:length] not in shown:
                shown[each[:length]] = each[length - 1].show(shown[each[: length - 1]])
    set_state(before)
    storage._array = whole.array
    return [part.array if each == own else shown[each].array for each in views]
