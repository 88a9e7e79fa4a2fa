"""In-place writes to dual tensors, and to tensors that become dual by being written."""

from __future__ import annotations

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.devices import may_overlap_itself
from dovetail_kernel.signature import NO_GRAD

from ...graph.engine_ops import extent_of, filled_like, has_memory, operator
from ...graph.view_memory import Place, viewed
from ...graph.views import view_meta
from ..wrapped.arrays import is_wrapped
from ..wrapped.levels import Level
from ..wrapped.written_tensors import (
    InGraph,
    moved_out,
    put_in_graph,
    replace,
    replace_all,
    views_of,
)
from .duals import DualArray, batches


def write_dual(level: Level, tensor: TensorBase, tangent: TensorBase, before: InGraph) -> None:
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
    views = views_of(base, tensor)
    if not views:
        replace(tensor, DualArray(moved_out(tensor), tangent, level))
        put_in_graph(base, before)
        return
    if may_overlap_itself(base.array.shape, base.stride()):
        raise RuntimeError(
            "an in-place write of a value with a tangent to a view is not supported by forward AD "
            f"if the base overlaps itself: it has shape {list(base.array.shape)} and strides "
            f"{list(base.stride())}. Write to a view of base.contiguous()."
        )
    own = _zeros_like(base, tangent)

    def dual(inside: TensorBase, place: Place | None) -> DualArray:
        return DualArray(inside, own if place is None else viewed(own, place), level)

    replace_all(base, views, dual)
    put_in_graph(base, before)
    operator("copy_", "default")(tensor.array.tangent, tangent)


def _zeros_like(base: TensorBase, tangent: TensorBase) -> TensorBase:
    """Return zeros of the shape, strides and dtype of `base`, wrapped as `tangent` is."""
    zeros, sizes = operator("new_zeros", "default"), list(base.array.shape)
    if not has_memory(base):
        made: TensorBase = zeros(tangent, sizes, dtype=base.dtype)
        return made
    strides = list(base.stride())
    memory = zeros(tangent, [extent_of(sizes, strides)], dtype=base.dtype)
    return operator("as_strided", "default")(memory, sizes, strides, 0)


def _writable(array: DualArray, tangent: TensorBase) -> TensorBase:
    """Return the tangent of `array`, made anew where `tangent` varies over more samples than it or
    its elements share memory.
    """
    own = array.tangent
    if batches(tangent) - batches(own) or may_overlap_itself(own.array.shape, own.stride()):
        before = state()
        try:
            set_state(before & ~NO_GRAD)
            own = array.tangent = operator("add", "Tensor")(filled_like(tangent, 0), own)
        finally:
            set_state(before)
    return own
