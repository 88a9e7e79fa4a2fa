"""`swap_tensors`: exchange of two tensors."""

from __future__ import annotations

from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import restoring


@restoring()
def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors: data, dtype, device, class, attributes, `requires_grad`, and gradients.
    All references to one tensor then refer to the content of the other.

    Views and other tensors that share memory stay with that memory, as when ``data`` is set. A
    recorded graph stays with its tensor object.

    Parameters
    ----------
    t1, t2 : Tensor
        Leaves without hooks.

    Raises
    ------
    RuntimeError
        If one is part of a graph, is a view, or has hooks, or if their classes have different
        slots; nothing is changed then.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"swap_tensors(): {name} must be Tensor, not {type(tensor).__name__}")
        reason = _bound(tensor)
        if reason is not None:
            raise RuntimeError(f"Cannot swap {name} because it {reason}. Swap a detached copy.")
    if set(_slotnames(type(t1))) != set(_slotnames(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    first, second = _parts(t1), _parts(t2)
    with no_grad():
        for tensor in (t1, t2):
            tensor.grad = None
            tensor.requires_grad = False
        for tensor, parts in ((t1, second), (t2, first)):
            kind, data, requires_grad, gradient, attributes = parts
            tensor.data = data
            tensor.__class__ = kind
            tensor.__dict__.clear()
            tensor.__dict__.update(attributes)
            tensor.requires_grad = requires_grad
            tensor.grad = gradient


def _bound(tensor: Tensor) -> str | None:
    """Return why a tensor cannot become another one, if so."""
    if tensor.grad_fn is not None:
        return "was computed, with a graph that leads to it"
    if tensor._is_view():
        return "is a view of another tensor"
    if tensor._backward_hooks:
        return "has hooks"
    return None


def _parts(tensor: Tensor) -> tuple[Any, ...]:
    gradient = tensor.grad
    return (type(tensor), tensor.detach(), tensor.requires_grad, gradient, dict(tensor.__dict__))
