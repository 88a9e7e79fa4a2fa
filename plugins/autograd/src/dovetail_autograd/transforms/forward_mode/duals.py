"""Dual arrays: a tensor and its tangent in place of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import TensorBase, backend_of_signature, share_storage, share_version, wrap
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import GRAD, WRAPPED_BIT

from ...engine.active_levels import framed
from ...graph.autograd_meta import gradient_edge
from ...graph.engine_ops import filled_like, operator, with_strides
from ..wrapped.arrays import BatchedArray, WrappedArray
from ..wrapped.levels import Level


class DualArray(WrappedArray):
    """A primal (`physical`) and its tangent, of one shape and dtype.

    Attributes
    ----------
    tangent
        The derivative of the primal in the direction that is being differentiated in.
    """

    __slots__ = ("tangent",)
    kind = "DualTensor"

    def __init__(self, primal: TensorBase, tangent: TensorBase, level: Level) -> None:
        super().__init__(primal, level)
        self.tangent = tangent

    def __repr__(self) -> str:
        if self.level.transforms_function:
            return framed(f"GradTrackingTensor(lvl={self.level.depth}", self.inner_text())
        return f"{self.inner_text().removesuffix(')')}, tangent={self.tangent!r})"

    def copy(self) -> DualArray:
        clone = operator("clone", "default")
        return DualArray(clone(self.physical), clone(self.tangent), self.level)

    def without_tangent(self) -> DualArray:
        """Return a wrapper of the same primal whose tangent is zero."""
        return DualArray(self.physical, filled_like(self.tangent, 0), self.level)


def cut(tensor: TensorBase) -> TensorBase:
    """Return a leaf with the data and version of `tensor`; unlike `detach`, it keeps what lies
    inside a wrapper.
    """
    asks = tensor._signature & PYTHON_DISPATCH
    backend = backend_of_signature(tensor._signature)
    twin = wrap(tensor.array, backend, type(tensor) if asks else None)
    if asks:
        vars(twin).update(vars(tensor))
    twin._storage = share_storage(tensor)
    twin._counter = share_version(tensor)
    return twin


def batches(tensor: TensorBase) -> set[Level]:
    """Return the levels of the maps over whose samples `tensor` varies."""
    found: set[Level] = set()
    while tensor._signature & WRAPPED_BIT:
        array = tensor.array
        if isinstance(array, BatchedArray):
            found.add(array.level)
        tensor = array.physical
    return found


def with_primal(function: Callable[..., object], tensor: TensorBase, *rest: Any) -> Any:
    """Return ``function(tensor, *rest)``, called with the primal of a dual tensor outside of its
    level: tangents stay as they are, also where `function` writes.
    """
    array = tensor.array
    if isinstance(array, DualArray):
        return array.level.run_outside(with_primal, function, array.physical, *rest)
    return function(tensor, *rest)


def is_tracked(tensor: TensorBase) -> bool:
    """Return whether `tensor` requires grad, or anything that it wraps does."""
    if tensor._signature & GRAD and tensor.requires_grad:
        return True
    return is_tracked_inside(tensor)


def is_tracked_inside(*tensors: TensorBase) -> bool:
    """Return whether anything that one of `tensors` wraps requires grad."""
    pending = [each.array for each in tensors if each._signature & WRAPPED_BIT]
    while pending:
        array = pending.pop()
        for each in (
            (array.physical, array.tangent) if isinstance(array, DualArray) else (array.physical,)
        ):
            if each._signature & GRAD and each.requires_grad:
                return True
            if each._signature & WRAPPED_BIT:
                pending.append(each.array)
    return False


def leads_elsewhere(tensors: Sequence[TensorBase], leaves: Sequence[TensorBase]) -> bool:
    """Return whether the graph of `tensors` leads to anything that requires grad besides
    `leaves`.
    """
    own = {id(edge[0]) for each in leaves if (edge := gradient_edge(each)) is not None}
    seen: set[int] = set()
    nodes: list[Any] = [edge[0] for each in tensors if (edge := gradient_edge(each)) is not None]
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node._is_leaf_node and id(node) not in own:
            return True
        nodes.extend([edge[0] for edge in node.next_edges if edge is not None])
    return False


def is_of_memory(op: Operator) -> bool:
    """Return whether an operator whose schema names no view shows memory, or reads it by
    strides.
    """
    return op.kind == "unmarked_view" or op.base_name == "as_strided_copy"


def same_layout(tensor: TensorBase, model: TensorBase) -> TensorBase:
    """Return `tensor`, or where its strides differ from those of `model` a copy with those, so that
    views correspond; strides of dimensions of one element say nothing.

    A model that overlaps itself is left alone: no view of it can be written.
    """
    strides = tuple(model.stride())
    sizes = tuple(model.array.shape)
    steps = zip(sizes, strides, tensor.stride(), strict=True)
    counted = [(step, own) for n, step, own in steps if n > 1]
    if all([step == own for step, own in counted]) or any([not step for step, _ in counted]):
        return tensor
    # Zeros lie between the elements, where no tangent is.
    return with_strides(tensor, list(strides))
