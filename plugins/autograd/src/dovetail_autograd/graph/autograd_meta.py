"""AutogradMeta: what only some tensors need (gradient, hooks, accumulator, view info), and the edge
of a tensor.
"""

from __future__ import annotations

import weakref
from gc import get_objects
from threading import Lock, RLock
from typing import Any, Final

from dovetail_kernel import TensorBase
from dovetail_kernel.fork_locks import call_in_child, renewed_after_fork
from dovetail_kernel.signature import GRAD, VIEW
from dovetail_kernel.typing import ShapedArray

from .accumulate import AccumulateGrad
from .hooks import Hooks, NodeHooks
from .node import EdgeTuple, LeafEdge

UNSET: Final = object()
"""`AutogradMeta.grad_dtype` of a tensor whose gradients have its own dtype."""


class AutogradMeta:
    """The uncommon half of a tensor's autograd state, in its ``_meta`` slot.

    Attributes
    ----------
    grad
        What backward accumulated.
    lock
        Held while a gradient is added; made with the first accumulator.
    accumulator
        The one AccumulateGrad node of a leaf, unless it was presented, or the leaf is gone.
    presented
        Weak reference to it, if it was.
    hooks
        Hooks of a leaf: shared with its accumulator, which may die while the tensor lives.
    post_accumulate
        Post-accumulate hooks of a leaf.
    requires_grad
        Whether a leaf that is a view was itself made to require grad; for other leaves the
        signature says so.
    retains_grad
        Whether a non-leaf keeps its gradient.
    original
        Of a leaf that stands for another one, and leads to its accumulator: that leaf.
    grad_dtype
        The dtype that gradients must have: `UNSET`, a dtype, or None for any.
    """

    # Views fill these three, and are many: an AutogradMeta can become a DifferentiableViewMeta.
    __slots__ = ("__dict__", "__weakref__", "attr_version", "base", "creation_meta")

    # Defaults in the class: a view stores only what it has.
    grad: TensorBase | None = None
    lock: RLock | None = None
    accumulator: AccumulateGrad | None = None
    presented: weakref.ref[AccumulateGrad] | None = None
    hooks: NodeHooks | None = None
    post_accumulate: Hooks | None = None
    requires_grad = False
    retains_grad = False
    original: TensorBase | None = None
    grad_dtype: Any = UNSET

    def present_accumulator(self) -> AccumulateGrad | None:
        """Return the accumulator, if there is one."""
        if self.accumulator is not None or self.presented is None:
            return self.accumulator
        return self.presented()

    def forget_accumulator(self) -> None:
        """Drop the accumulator, so that the next call of the leaf creates a new one."""
        self.accumulator = self.presented = None

    def array_replaced(self, array: ShapedArray) -> None:
        """Note that the array of the tensor was replaced: an accumulator of another shape or dtype
        is invalid.
        """
        node = self.present_accumulator()
        if node is None:
            return
        if node.input_metadata != (array.shape, array.dtype):
            self.forget_accumulator()
        else:
            node.strides = getattr(array, "strides", None)


_lock = renewed_after_fork(Lock())


def _renew_locks_of_leaves() -> None:
    """Free, in the child of a fork, the leaves to which other threads were adding a gradient."""
    for each in get_objects():
        if not issubclass(type(each), AutogradMeta) or each.lock is None:
            continue
        if not each.lock._is_owned():
            each.lock._at_fork_reinit()


call_in_child(_renew_locks_of_leaves)


def meta_of(tensor: TensorBase) -> AutogradMeta:
    """Return the AutogradMeta of `tensor`, made on demand."""
    meta = tensor._meta
    if meta is None:
        with _lock:  # two threads must not end up with two accumulators
            meta = tensor._meta
            if meta is None:
                meta = tensor._meta = AutogradMeta()
    found: AutogradMeta = meta
    return found


def leaf_edge(tensor: TensorBase) -> LeafEdge:
    """Return the edge to the leaf `tensor`, which requires grad and is not a view."""
    meta = tensor._meta
    if meta is not None:
        node = meta.accumulator
        if node is not None:
            return node, 0, tensor
    return _accumulator(tensor), 0, tensor


def _accumulator(tensor: TensorBase) -> AccumulateGrad:
    meta = meta_of(tensor)
    with _lock:
        node = meta.accumulator
        if node is None and meta.presented is not None:
            node = meta.presented()
        if node is None:
            if meta.lock is None:
                meta.lock = RLock()
            node = meta.accumulator = AccumulateGrad(tensor, meta, meta.lock)
            if meta.hooks is not None:
                node._array_backend = None
                node._node_hooks = meta.hooks
            if meta.grad_dtype is not UNSET:
                node.give_dtype(meta.grad_dtype)
    return node


def gradient_edge(tensor: TensorBase) -> EdgeTuple | None:
    """Return where gradients of `tensor` go, or None if it does not require grad."""
    signature = tensor._signature
    if not signature & GRAD:
        return None
    node = tensor._grad_fn
    if signature & VIEW:
        meta = tensor._meta
        if node is not None or meta.base._signature & GRAD:
            node = meta.grad_fn(tensor)
        if node is None and not (meta.requires_grad or requires_grad(meta.base)):
            return None
    return leaf_edge(tensor) if node is None else (node, tensor.output_nr)


def requires_grad(tensor: TensorBase) -> bool:
    """Return whether `tensor` requires grad. A view does when its base does."""
    signature = tensor._signature
    if not signature & GRAD:
        return False
    if not signature & VIEW or tensor._grad_fn is not None:
        return True
    meta = tensor._meta
    return bool(meta.requires_grad or requires_grad(meta.base))


def retain_on_node(tensor: TensorBase) -> None:
    """Let the node that made `tensor` keep its gradient."""
    edge = gradient_edge(tensor)
    if edge is not None and not edge[0]._is_leaf_node:
        node, output_nr = edge[0], edge[1]
        node._make_hooks().retained[output_nr] = weakref.ref(tensor)
