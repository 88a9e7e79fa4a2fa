"""Tensors that become wrapped by being written, with the tensors that show their memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_dispatcher.calls import keep_views
from dovetail_kernel import TensorBase, tensor_class, tensors_on_storage, wrapped_backend
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import DTYPE_MASK, GRAD, NORMAL, VIEW, ZERO_DIM
from dovetail_kernel.tensor import has_own_storage, new_tensor

from ...graph.engine_ops import has_memory
from ...graph.view_memory import Place, viewed
from ...graph.views import view_meta
from .arrays import SharedArray, WrappedArray


class InGraph(NamedTuple):
    """The place in the graph of a root, before a physical write, which moves the root in its own
    graph.
    """

    grad_fn: Any
    output_nr: int
    grad: int


def place_in_graph(tensor: TensorBase) -> InGraph:
    """Return the place in the graph of `tensor`, or of the base that it is a view of."""
    info = view_meta(tensor)
    base = tensor if info is None else info.base
    return InGraph(base._grad_fn, base.output_nr, base._signature & GRAD)


def write_shared(level: Any, tensor: TensorBase, before: InGraph) -> None:
    """Let `tensor`, which was just written in the graph outside of `level`, be a tensor that all
    samples share, and with it the base that it is a view of and all other views of that.

    What they were, with the graph of the outside, is inside of the wrappers then. The wrappers keep
    the place in the graph that the root had before the write: the graph of the inside goes on from
    there.
    """
    info = view_meta(tensor)
    base = tensor if info is None else info.base
    replace_all(base, views_of(base, tensor), lambda inside, _: SharedArray(inside, level))
    put_in_graph(base, before)


def replace_all(
    base: TensorBase,
    views: Sequence[TensorBase],
    wrapped: Callable[[TensorBase, Place | None], WrappedArray],
) -> None:
    """Let `base` and its `views` have arrays that wrap what they were.

    Parameters
    ----------
    wrapped
        Returns the array around what a tensor was, for its place in `base`; None for `base` itself.
    """
    start = base.storage_offset() if has_memory(base) else 0
    places = [(Place(view, base), Place(view, base, start)) for view in views]
    inside = moved_out(base)
    replace(base, wrapped(inside, None))
    for view, (in_memory, in_base) in zip(views, places, strict=True):
        replace(view, wrapped(viewed(inside, in_memory), in_base))
        view._storage = base.untyped_storage()
        view._counter = base._counter
        if not has_memory(base):
            keep_views(view, in_base.views)


def views_of(base: TensorBase, written: TensorBase) -> list[TensorBase]:
    """Return all differentiable views of `base` that are alive; `written` is `base` or one of
    them.
    """
    found = [] if written is base else [written]
    if has_own_storage(base, others=len(found)):
        return found
    storage = base._storage
    assert storage is not None
    for each in tensors_on_storage(storage):
        info = view_meta(each)
        if each is not written and info is not None and info.base is base:
            found.append(each)
    return found


def moved_out(tensor: TensorBase) -> TensorBase:
    """Return a new tensor that is what `tensor` was: array, memory, version and place in the
    graph; with ``__torch_dispatch__`` also its class, and the attributes with what it wraps.
    """
    asks = tensor._signature & PYTHON_DISPATCH
    made = new_tensor(
        tensor.array,
        tensor._signature & ~(VIEW | (0 if tensor._grad_fn is not None else GRAD)),
        type(tensor) if asks else tensor_class(),
    )
    if asks:
        vars(made).update(vars(tensor))
    made._grad_fn = tensor._grad_fn
    made.output_nr = tensor.output_nr
    made._storage = tensor._storage
    made._counter = tensor._counter
    return made


def replace(tensor: TensorBase, array: WrappedArray) -> None:
    """Let `tensor` have `array`, which wraps what it was."""
    kept = tensor._signature & (DTYPE_MASK | ZERO_DIM | NORMAL)
    tensor.array = array
    tensor._signature = kept | wrapped_backend().bit | (tensor._signature & VIEW and GRAD | VIEW)
    tensor._grad_fn = None
    tensor.output_nr = 0
    tensor._storage = None


def put_in_graph(base: TensorBase, place: InGraph) -> None:
    """Let `base` have the place in the graph that it had before it was written."""
    base._grad_fn = place.grad_fn
    base.output_nr = place.output_nr
    base._signature |= place.grad
