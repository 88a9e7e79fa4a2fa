"""AutogradInterface: what TensorBase asks of autograd, and the answers without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ..types.dtype import dtype
    from .tensor_base import TensorBase


class AutogradInterface:
    """Answers about gradients. This class answers where autograd is not installed; the autograd
    plugin replaces it.

    Every method takes the tensor it is asked about.
    """

    def requires_grad(self, tensor: TensorBase) -> bool:
        """Return whether `tensor` requires grad; asked only if its signature says that it may."""
        return False

    def set_requires_grad(self, tensor: TensorBase, requires_grad: bool) -> None:
        """Make the leaf `tensor` require grad, or not."""
        if requires_grad:
            self._missing("requires_grad=True")

    def check_requires_grad_(self) -> None:
        """Refuse a call of ``requires_grad_`` where a function is being transformed."""

    def text_inside(self, tensor: TensorBase) -> str | None:
        """Return ``repr(tensor)`` inside of a function that is being transformed; None if it shows
        nothing of that.
        """
        return None

    def grad(self, tensor: TensorBase) -> TensorBase | None:
        """Return ``tensor.grad``."""
        return None

    def set_grad(self, tensor: TensorBase, grad: TensorBase | None) -> None:
        """Check and set ``tensor.grad``."""
        self._missing("setting .grad")

    def leaf_grad_dtype(self, tensor: TensorBase) -> dtype | None:
        """Return ``tensor.grad_dtype``."""
        return tensor.dtype

    def set_grad_dtype(self, tensor: TensorBase, wanted: dtype | None) -> None:
        """Choose the dtype in which gradients of the leaf `tensor` accumulate."""
        self._missing("setting .grad_dtype")

    def grad_fn(self, tensor: TensorBase) -> Any:
        """Return the node that made `tensor`, up to date also for a view whose base was written in
        place.
        """
        return None

    def is_leaf(self, tensor: TensorBase) -> bool:
        """Return whether `tensor` was made by the user rather than by a recorded call."""
        return True

    def retains_grad(self, tensor: TensorBase) -> bool:
        """Return whether the non-leaf `tensor` keeps its gradient."""
        return False

    def retain_grad(self, tensor: TensorBase) -> None:
        """Keep the gradient of a non-leaf."""
        self._missing("retain_grad()")

    def base(self, tensor: TensorBase) -> TensorBase | None:
        """Return the tensor that `tensor` is a differentiable view of."""
        return None

    def check_inplace_view(self, tensor: TensorBase, name: str) -> None:
        """Refuse a call of the operator `name` that would make `tensor` show another part of its
        memory.
        """

    def take_history(self, tensor: TensorBase, view: TensorBase) -> None:
        """Make the node of `view`, which `tensor` shows from now on, that of `tensor`."""

    def detach_(self, tensor: TensorBase) -> TensorBase:
        """Detach `tensor` from its graph, in place."""
        return tensor

    def backward_hooks(self, tensor: TensorBase) -> Any:
        """Return the mapping of tensor hooks, or None."""
        return None

    def set_backward_hooks(self, tensor: TensorBase, hooks: Any) -> None:
        """Put a mapping of tensor hooks in the place of the one there is; None takes it away."""
        if hooks:
            self._missing("_backward_hooks")

    def post_accumulate_grad_hooks(self, tensor: TensorBase) -> Any:
        """Return the mapping of post-accumulate hooks, or None."""
        return None

    def register_hook(self, tensor: TensorBase, hook: Any) -> Any:
        """Register `hook` on the gradient of `tensor`."""
        self._missing("register_hook()")

    def register_post_accumulate_grad_hook(self, tensor: TensorBase, hook: Any) -> Any:
        """Register `hook` to run after a gradient was accumulated into the leaf `tensor`."""
        self._missing("register_post_accumulate_grad_hook()")

    def backward(
        self,
        tensor: TensorBase,
        gradient: TensorBase | None,
        retain_graph: bool | None,
        create_graph: bool,
        inputs: Any,
    ) -> None:
        """Compute the gradient of `tensor` with respect to the leaves of its graph."""
        self._missing("backward()")

    @staticmethod
    def _missing(what: str) -> NoReturn:
        raise RuntimeError(
            f"{what} needs automatic differentiation, which is not installed. Install "
            "dovetail-autograd, from the clone or the folder of wheels that the others came from"
        )


interface: AutogradInterface = AutogradInterface()
"""The answers in force; module attribute, replaced once by `set_autograd_interface`."""


def set_autograd_interface(new: AutogradInterface) -> None:
    """Put the answers of an autograd plugin in force."""
    global interface
    interface = new
