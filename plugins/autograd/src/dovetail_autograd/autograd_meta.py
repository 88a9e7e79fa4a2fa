"""AutogradMeta: what only some tensors need (gradient, hooks, accumulator, view info), and the edge of a tensor."""

from __future__ import annotations

import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.signature import GRAD, VIEW
from dovetail_kernel.tensor_base import TensorBase

from .accumulate import AccumulateGrad

if TYPE_CHECKING:
    from dovetail_kernel.backends import Backend

    from .hooks import Hooks, NodeHooks
    from .node import Node
    from .views import ViewInfo

UNSET: Final = object()
"""`AutogradMeta.grad_dtype` of a tensor whose gradients have its own dtype."""


class AutogradMeta:
    """The uncommon half of a tensor's autograd state, in its ``_meta`` slot.

    Attributes
    ----------
    grad
        What backward accumulated.
    lock
        Held while a gradient is added, or the accumulator made.
    backend
        The backend of a leaf, once it has had an accumulator.
    accumulator
        Weak reference to the one AccumulateGrad node of a leaf.
    hooks
        Hooks of a leaf: shared with its accumulator, which may die while the tensor lives.
    post_accumulate
        Post-accumulate hooks of a leaf.
    requires_grad
        Whether a leaf that is a view was itself made to require grad; for other leaves the signature says so.
    retains_grad
        Whether a non-leaf keeps its gradient.
    view
        What a differentiable view is a view of.
    grad_dtype
        The dtype that gradients must have: `UNSET`, a dtype, or None for any.
    """

    __slots__ = (
        "accumulator",
        "backend",
        "grad",
        "grad_dtype",
        "hooks",
        "lock",
        "post_accumulate",
        "requires_grad",
        "retains_grad",
        "view",
    )

    grad: TensorBase | None
    accumulator: weakref.ref[AccumulateGrad] | None
    hooks: NodeHooks | None
    post_accumulate: Hooks | None
    view: ViewInfo | None

    def __init__(self) -> None:
        self.grad = None
        self.lock = Lock()
        self.backend: Backend | None = None
        self.accumulator = None
        self.hooks = None
        self.post_accumulate = None
        self.requires_grad = False
        self.retains_grad = False
        self.view = None
        self.grad_dtype: Any = UNSET


_lock = Lock()


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


def leaf_node(tensor: TensorBase) -> AccumulateGrad | None:
    """Return the AccumulateGrad node of the leaf `tensor`; None if it does not require grad.

    This is what a recording route asks for an argument whose ``_grad_fn`` is None and which is not a view.
    """
    meta = tensor._meta
    if meta is not None:
        reference = meta.accumulator
        if reference is not None:
            node: AccumulateGrad | None = reference()
            if node is not None:
                return node
    if not tensor._signature & GRAD:
        return None
    return _make_accumulator(tensor)


def _make_accumulator(tensor: TensorBase) -> AccumulateGrad:
    meta = meta_of(tensor)
    with meta.lock:
        node = meta.accumulator() if meta.accumulator is not None else None
        if node is None:
            backend = meta.backend
            if backend is None:
                backend = meta.backend = tensor._backend
            node = AccumulateGrad(tensor, backend, meta.lock)
            if meta.hooks is not None:
                node.backend = None
                node.hooks = meta.hooks
            meta.accumulator = weakref.ref(node)
    return node


def gradient_edge(tensor: TensorBase) -> tuple[Node, int] | None:
    """Return where gradients of `tensor` go: (node, output number), or None if it does not require grad."""
    signature = tensor._signature
    if not signature & GRAD:
        return None
    if signature & VIEW:
        from .views import view_grad_fn

        node = view_grad_fn(tensor)
    else:
        node = tensor._grad_fn
    if node is None:
        if signature & VIEW and not tensor._meta.requires_grad:
            return None
        leaf = leaf_node(tensor)
        return None if leaf is None else (leaf, 0)
    return node, tensor.output_nr


def requires_grad(tensor: TensorBase) -> bool:
    """Return whether `tensor` requires grad. A view does when its base does."""
    signature = tensor._signature
    if not signature & GRAD:
        return False
    if not signature & VIEW or tensor._grad_fn is not None:
        return True
    meta = tensor._meta
    return bool(meta.requires_grad or requires_grad(meta.view.base))
