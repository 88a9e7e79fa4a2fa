"""In-place writes to dual tensors, and to tensors that become dual by being written."""

from __future__ import annotations

from gc import get_referrers
from sys import getrefcount
from typing import Any, Final, NamedTuple

from dovetail_dispatcher.calls.arrays.immutable_array_writes import keep_views
from dovetail_kernel import wrapped_backend
from dovetail_kernel.keys.state import set_state, state
from dovetail_kernel.tensor.new_tensors import new_tensor, tensor_class
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import DTYPE_MASK, GRAD, NO_GRAD, NORMAL, VIEW, ZERO_DIM

from ...graph.engine_ops import extent_of, filled_like, has_memory, operator
from ...graph.view_memory import Place, viewed
from ...graph.views import may_overlap_itself, view_meta
from ..wrapped.arrays import is_wrapped
from .duals import DualArray, batches

UNSHARED: Final = 3
"""References to the storage of a base that no other tensor shares: the base's, a local one, and the
question's.
"""


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


def write_dual(level: Any, tensor: TensorBase, tangent: TensorBase, before: InGraph) -> None:
    """Give `tensor`, which was just written in place, the tangent `tangent`.

    A tangent that views may share is written in place as well, and so is one in no_grad mode, where
    it keeps its place in the graph, as its primal does. A tensor without one becomes dual,
    and with it the base that it is a view of, and all other views of that. A root that becomes dual
    keeps its place in the graph: the node of the write goes on from there.

    Parameters
    ----------
    before
        What `place_in_graph` returned before the write.

    Raises
    ------
    RuntimeError
        If a view is written whose base overlaps itself.
    """
    if is_wrapped(tensor) and tensor.array.level is level:
        is_shared = tensor._storage is not None
        if not is_shared and not state() & NO_GRAD:
            tensor.array.tangent = tangent
            return
        own = tensor.array.tangent if is_shared else _writable(tensor.array, tangent)
        operator("copy_", "default")(own, tangent)
        return
    info = view_meta(tensor)
    base = tensor if info is None else info.base
    views = _views_of(base, tensor)
    if not views:
        _replace(level, tensor, _moved_out(tensor), tangent)
        _put_in_graph(base, before)
        return
    if may_overlap_itself(base):
        raise RuntimeError(
            "an in-place write of a value with a tangent to a view is not supported by forward AD "
            f"if the base overlaps itself: it has shape {list(base.array.shape)} and strides "
            f"{list(base.stride())}. Write to a view of base.contiguous()."
        )
    if not has_memory(base):
        _make_dual_by_views(level, base, views, tangent)
        _put_in_graph(base, before)
        operator("copy_", "default")(tensor.array.tangent, tangent)
        return
    start = base.storage_offset()
    places = [(list(v.array.shape), list(v.stride()), v.storage_offset() - start) for v in views]
    as_strided = operator("as_strided", "default")
    # Made of the new tangent, so that it is wrapped alike.
    extent = extent_of(base.array.shape, base.stride())
    memory = operator("new_zeros", "default")(tangent, [extent], dtype=base.dtype)
    primal = _moved_out(base)
    _replace(
        level, base, primal, as_strided(memory, list(base.array.shape), list(base.stride()), 0)
    )
    for view, (sizes, strides, offset) in zip(views, places, strict=True):
        part = as_strided(memory, sizes, strides, offset)
        _replace(level, view, as_strided(primal, sizes, strides, offset + start), part)
        view._storage = base.untyped_storage()
        view._counter = base._counter
    _put_in_graph(base, before)
    operator("copy_", "default")(tensor.array.tangent, tangent)


def _writable(array: DualArray, tangent: TensorBase) -> TensorBase:
    """Return the tangent of `array`, made anew where `tangent` varies over more samples than it or
    its elements share memory.
    """
    own = array.tangent
    if batches(tangent) - batches(own) or may_overlap_itself(own):
        before = state()
        try:
            set_state(before & ~NO_GRAD)
            own = array.tangent = operator("add", "Tensor")(filled_like(tangent, 0), own)
        finally:
            set_state(before)
    return own


def _make_dual_by_views(
    level: Any, base: TensorBase, views: list[TensorBase], tangent: TensorBase
) -> None:
    """Make a base dual, and its views: where arrays cannot be written, there is no memory that
    strides tell places of, and the operators by which views were made are called again.
    """
    places = [Place(view, base) for view in views]
    zeros = operator("new_zeros", "default")(tangent, list(base.array.shape), dtype=base.dtype)
    primal = _moved_out(base)
    _replace(level, base, primal, zeros)
    for view, place in zip(views, places, strict=True):
        _replace(level, view, viewed(primal, place), viewed(zeros, place))
        view._storage = base.untyped_storage()
        view._counter = base._counter
        keep_views(view, place.views)


def _views_of(base: TensorBase, written: TensorBase) -> list[TensorBase]:
    """Return all differentiable views of `base` that are alive; `written` is `base` or one of them.

    Nothing leads from the memory to them, so the garbage collector is asked, unless the references
    to the memory are known: it looks at all objects of the process.
    """
    storage = base._storage
    if storage is None:
        return []
    known = [] if written is base else [written]
    if getrefcount(storage) == UNSHARED + len(known):
        return known
    found = []
    for each in get_referrers(storage):
        if isinstance(each, TensorBase) and each is not base and each._storage is storage:
            info = view_meta(each)
            if info is not None and info.base is base:
                found.append(each)
    return found


def _moved_out(tensor: TensorBase) -> TensorBase:
    """Return a new tensor that is what `tensor` was: array, memory, version and place in the
    graph.
    """
    made = new_tensor(
        tensor.array,
        tensor._signature & ~(VIEW | (0 if tensor._grad_fn is not None else GRAD)),
        tensor_class(),
    )
    made._grad_fn = tensor._grad_fn
    made.output_nr = tensor.output_nr
    made._storage = tensor._storage
    made._counter = tensor._counter
    return made


def _replace(level: Any, tensor: TensorBase, primal: TensorBase, tangent: TensorBase) -> None:
    kept = tensor._signature & (DTYPE_MASK | ZERO_DIM | NORMAL)
    tensor.array = DualArray(primal, tangent, level)
    tensor._signature = kept | wrapped_backend().bit | (tensor._signature & VIEW and GRAD | VIEW)
    tensor._grad_fn = None
    tensor.output_nr = 0
    tensor._storage = None


def _put_in_graph(base: TensorBase, place: InGraph) -> None:
    base._grad_fn = place.grad_fn
    base.output_nr = place.output_nr
    base._signature |= place.grad
