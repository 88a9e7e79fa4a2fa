"""Answers what tensors are asked about their hooks."""

from __future__ import annotations

from collections.abc import Callable

from dovetail_kernel import TensorBase
from dovetail_kernel.sockets import AutogradInterface

from ...graph.accumulate import watch_leaves
from ...graph.autograd_meta import gradient_edge, meta_of, requires_grad
from ...graph.hooks import Hooks, NodeHooks, RemovableHandle, TensorHooks, add_hook
from ...graph.node import Node


class HookInterface(AutogradInterface):
    """Answers about hooks for every tensor, once autograd is installed."""

    def backward_hooks(self, tensor: TensorBase) -> TensorHooks | None:
        node = self.grad_fn(tensor)
        hooks = node._node_hooks if node is not None else tensor._meta and tensor._meta.hooks
        if hooks is None:
            return None
        found: TensorHooks | None = hooks.tensor.get(tensor.output_nr)
        return found

    def set_backward_hooks(self, tensor: TensorBase, hooks: object) -> None:
        """Replace the mapping of tensor hooks; None removes it. Raises TypeError for anything
        else.
        """
        if hooks is not None and not isinstance(hooks, dict):
            raise TypeError(
                f"_backward_hooks must be a dict of hooks or None, not {type(hooks).__name__}."
            )
        edge = gradient_edge(tensor) if requires_grad(tensor) else None
        if edge is None:  # for the accumulator that comes with requires_grad
            owner = meta_of(tensor).hooks = NodeHooks()
        else:
            node = edge[0]
            owner = _leaf_hooks(tensor, node) if self.is_leaf(tensor) else node._make_hooks()
        output_nr = 0 if edge is None else edge[1]
        if hooks is None:
            owner.tensor.pop(output_nr, None)
        else:
            owner.tensor[output_nr] = hooks

    def post_accumulate_grad_hooks(self, tensor: TensorBase) -> Hooks | None:
        hooks: Hooks | None = tensor._meta and tensor._meta.post_accumulate
        return hooks

    def register_hook(self, tensor: TensorBase, hook: Callable[..., object]) -> RemovableHandle:
        """Call `hook` with the gradient of `tensor` whenever it is computed; it may return a
        replacement. Raises RuntimeError if `tensor` does not require grad.
        """
        edge = gradient_edge(tensor) if requires_grad(tensor) else None
        if edge is None:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient. Call "
                "requires_grad_() on it first."
            )
        node, output_nr = edge[0], edge[1]
        hooks = _leaf_hooks(tensor, node) if self.is_leaf(tensor) else node._make_hooks()
        return add_hook(hooks.tensor_hooks(output_nr), hook)

    def register_post_accumulate_grad_hook(
        self, tensor: TensorBase, hook: Callable[..., object]
    ) -> RemovableHandle:
        """Call `hook` with the leaf after a gradient was accumulated into it. Raises RuntimeError
        if `tensor` is not a leaf, or does not require grad.
        """
        if not requires_grad(tensor):
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient. Call "
                "requires_grad_() on it first."
            )
        if not self.is_leaf(tensor):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors. Use "
                "register_hook() or "
                "retain_grad()."
            )
        meta = meta_of(tensor)
        watch_leaves()
        if meta.post_accumulate is None:
            meta.post_accumulate = Hooks()
        return meta.post_accumulate.register(hook)


def _leaf_hooks(tensor: TensorBase, node: Node) -> NodeHooks:
    """Return the hooks of a leaf: the tensor owns them, since its accumulator comes and goes."""
    meta = meta_of(tensor)
    hooks = node._make_hooks()
    meta.hooks = hooks
    return hooks
