"""Answers the attributes of tensors: `requires_grad`, `grad`, `grad_fn`, `backward`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from dovetail_kernel import (
    TensorBase,
    dispatch_state,
    dtype,
    is_grad_enabled,
    share_version,
    warn_user,
)
from dovetail_kernel.signature import GRAD, NORMAL, VIEW, WRAPPED_BIT
from dovetail_kernel.tensor import DetachedCounter

from ...graph.autograd_meta import UNSET, meta_of, requires_grad, retain_on_node
from ...graph.node import Node
from ...graph.views import check_inplace, take_history
from ..active_levels import is_in_transform, refuse_captured, text_inside
from .hook_interface import HookInterface

_SCALAR_TYPES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint8": "Byte", "int8": "Char", "int16": "Short",
    "int32": "Int", "int64": "Long",
    "bool": "Bool",
}  # fmt: skip


class TensorInterface(HookInterface):
    """Answers for every tensor, once autograd is installed."""

    def requires_grad(self, tensor: TensorBase) -> bool:
        """Return whether `tensor` requires grad."""
        return requires_grad(tensor)

    def check_requires_grad_(self) -> None:
        """Raise an error for ``requires_grad_`` inside a function transform.

        Raises
        ------
        RuntimeError
            Inside of `grad`, `vjp`, `jvp`, `vmap` and what is made of them.
        """
        if is_in_transform():
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using "
                "autograd.functional.* APIs) "
                "inside of a function being transformed by a functorch transform. This is "
                "unsupported, please attempt "
                "to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
                "call requires_grad_() "
                "outside of a function being transformed instead."
            )

    def text_inside(self, tensor: TensorBase) -> str | None:
        """Return ``repr(tensor)`` inside of a transform that knows `tensor`; None if none does."""
        return text_inside(tensor)

    def set_requires_grad(self, tensor: TensorBase, value: bool) -> None:
        """Make the leaf `tensor` require grad, or not.

        Raises
        ------
        RuntimeError
            For a non-leaf, or an inference tensor outside inference mode.
        """
        if not self.is_leaf(tensor):
            if value:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if value and not tensor._signature & NORMAL and not dispatch_state().inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed. Clone it first."
            )
        if tensor._signature & VIEW:
            tensor._meta.requires_grad = value
        elif value:
            tensor._signature |= GRAD
        else:
            tensor._signature &= ~GRAD
        _let_rest(tensor, not value)

    def grad(self, tensor: TensorBase) -> TensorBase | None:
        """Return ``tensor.grad``; warn for a non-leaf that does not keep it."""
        meta = tensor._meta
        if meta is not None and (meta.grad is not None or meta.retains_grad):
            grad: TensorBase | None = meta.grad
            return grad
        if not self.is_leaf(tensor):
            warn_user(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad "
                "field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access "
                "the non-leaf Tensor "
                "by mistake, make sure you access the leaf Tensor instead."
            )
        return None

    def set_grad(self, tensor: TensorBase, grad: TensorBase | None) -> None:
        """Check and set ``tensor.grad``.

        Raises
        ------
        TypeError
            If `grad` is not a tensor.
        RuntimeError
            If its shape, dtype or device is not that of `tensor`, or it is `tensor` itself.
        """
        if grad is None:
            if tensor._meta is not None:
                tensor._meta.grad = None
            return
        if not isinstance(grad, TensorBase):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(grad).__name__}. "
                "Make a tensor of it."
            )
        if grad is tensor:
            raise RuntimeError("can't assign Variable as its own grad. Assign a clone.")
        if grad._backend is not tensor._backend:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{grad.device.type}' to a "
                "tensor with device type "
                f"'{tensor.device.type}'. Please ensure that the gradient and the tensor are on "
                "the same device"
            )
        wanted = self.grad_dtype(tensor)
        if wanted is not None and grad.dtype != wanted:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{_scalar_type(grad.dtype).lower()}' "
                "to a tensor with "
                f"grad_dtype '{_scalar_type(wanted)}'. The gradient must match the tensor's "
                "grad_dtype (defaults to "
                "the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
                "specific dtype, or None to "
                "allow any dtype."
            )
        if tuple(grad.array.shape) != tuple(tensor.array.shape):
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(grad.array.shape)}' to a tensor "
                "of size "
                f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor "
                "are the same size"
            )
        meta_of(tensor).grad = grad

    def grad_dtype(self, tensor: TensorBase) -> Any:
        """Return the dtype that ``tensor.grad`` must have; None for any."""
        meta = tensor._meta
        return tensor.dtype if meta is None or meta.grad_dtype is UNSET else meta.grad_dtype

    def leaf_grad_dtype(self, tensor: TensorBase) -> dtype | None:
        """Return ``tensor.grad_dtype``.

        Raises
        ------
        RuntimeError
            For a non-leaf.
        """
        if not self.is_leaf(tensor):
            raise RuntimeError(
                "grad_dtype can only be accessed on leaf tensors. Ask the leaves it was computed "
                "from."
            )
        found: dtype | None = self.grad_dtype(tensor)
        return found

    def set_grad_dtype(self, tensor: TensorBase, wanted: dtype | None) -> None:
        """Set the dtype in which gradients of the leaf `tensor` accumulate; None: any dtype.

        Raises
        ------
        RuntimeError
            If `tensor` is not a leaf or has a gradient of another dtype, or `wanted` is not a
            dtype.
        """
        if not self.is_leaf(tensor):
            raise RuntimeError(
                "grad_dtype can only be set on leaf tensors. Set it on those it was computed from."
            )
        if wanted is not None and not isinstance(wanted, dtype):
            raise RuntimeError(
                f"grad_dtype must be a dovetail.dtype or None, but got {type(wanted).__name__}"
            )
        meta = meta_of(tensor)
        if wanted is not None and meta.grad is not None and meta.grad.dtype is not wanted:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{_scalar_type(wanted)}' because there is already a "
                "gradient with dtype "
                f"'{_scalar_type(meta.grad.dtype).lower()}'. Please clear the gradient (.grad = "
                "None) before changing "
                "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
            )
        meta.grad_dtype = wanted
        node = meta.present_accumulator()
        if node is not None:
            node.give_dtype(wanted)

    def grad_fn(self, tensor: TensorBase) -> Node | None:
        if tensor._signature & VIEW:
            made: Node | None = tensor._meta.grad_fn(tensor)
            return made
        node: Node | None = tensor._grad_fn
        return node

    def is_leaf(self, tensor: TensorBase) -> bool:
        return self.grad_fn(tensor) is None

    def retains_grad(self, tensor: TensorBase) -> bool:
        meta = tensor._meta
        return meta is not None and bool(meta.retains_grad)

    def retain_grad(self, tensor: TensorBase) -> None:
        """Keep the gradient of a non-leaf.

        Raises
        ------
        RuntimeError
            If `tensor` does not require grad, and inside of `grad`, `vjp` and what is made of
            them.
        """
        if not requires_grad(tensor):
            raise RuntimeError(
                "can't retain_grad on Tensor that has requires_grad=False. Call requires_grad_() "
                "on what it is made of."
            )
        if is_in_transform():
            raise RuntimeError(
                "You are attempting to call Tensor.retain_grad() inside of a function being "
                "transformed by a functorch transform. This is unsupported, please attempt to use "
                "the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "retain_grad() outside of a function being transformed instead."
            )
        if self.is_leaf(tensor) or self.retains_grad(tensor):
            return
        meta_of(tensor).retains_grad = True
        retain_on_node(tensor)

    def base(self, tensor: TensorBase) -> TensorBase | None:
        if not tensor._signature & VIEW:
            return None
        base: TensorBase = tensor._meta.base
        return base

    def check_inplace_view(self, tensor: TensorBase, name: str) -> None:
        """Check an in-place view operator `name`, which would change the view of `tensor`.

        Raises
        ------
        RuntimeError
            Where an in-place write is refused.
        """
        if dispatch_state().transformed:
            refuse_captured(f"aten::{name}", tensor)
        if is_grad_enabled():
            check_inplace(tensor, False)

    def take_history(self, tensor: TensorBase, view: TensorBase) -> None:
        take_history(tensor, view)

    def detach_(self, tensor: TensorBase) -> TensorBase:
        """Detach `tensor` from its graph, in place; in inference mode leave it as it is, as PyTorch
        does. Raises RuntimeError for a view.
        """
        now = dispatch_state()
        if now.transformed:
            refuse_captured("aten::detach_", tensor)
        if now.inference:
            return tensor
        if tensor._signature & VIEW:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if tensor._grad_fn is not None:
            tensor._counter = DetachedCounter(share_version(tensor))
        if tensor._signature & WRAPPED_BIT:
            tensor.array = tensor.array.without_tangent()
        tensor._grad_fn = None
        tensor.output_nr = 0
        tensor._signature &= ~GRAD
        _let_rest(tensor, True)
        if tensor._meta is not None:
            tensor._meta.hooks = None
            tensor._meta.retains_grad = False
        return tensor

    @cached_property
    def backward(self) -> Callable[..., None]:
        """The function `backward_of_one`."""
        from .backward import backward_of_one  # the engine, which programs without gradients spare

        return backward_of_one


def _let_rest(tensor: TensorBase, resting: bool) -> None:
    """Let the accumulator in older graphs of the leaf `tensor` drop what comes, or accumulate
    again.
    """
    node = tensor._meta and tensor._meta.present_accumulator()
    if node is not None:
        node.rest(resting)


def _scalar_type(kind: object) -> str:
    name = str(kind).rpartition(".")[2]
    return _SCALAR_TYPES.get(name, name)
