"""Functions of ``torch.autograd.graph`` that are about tensors: where the gradient of one arrives,
writes to it, and hooks over several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Literal

from dovetail_kernel import TensorBase, bump_version, renewed_after_fork

from ...graph.autograd_meta import gradient_edge, requires_grad
from ...graph.hooks import RemovableHandle
from ...graph.node import GradientEdge
from ..tasks.graph_task import current_task


def get_gradient_edge(tensor: TensorBase) -> GradientEdge:
    """Return the edge at which the gradient of `tensor` arrives.

    Raises
    ------
    RuntimeError
        If `tensor` does not require grad.
    """
    edge = gradient_edge(tensor) if requires_grad(tensor) else None
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients. "
            "Call requires_grad_() on it first."
        )
    return GradientEdge(edge[0].presented(), edge[1])


def increment_version(tensor: TensorBase | Iterable[TensorBase]) -> None:
    """Count one in-place write to `tensor`, or to each of several. Inference tensors have no
    version.
    """
    for each in (tensor,) if isinstance(tensor, TensorBase) else tuple(tensor):
        if not each.is_inference():
            bump_version(each)


class MultiGradHandle(RemovableHandle):
    """Removes the hook that `register_multi_grad_hook` put on several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[TensorBase],
    fn: Callable[[Sequence[TensorBase | None]], None] | Callable[[TensorBase], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call `fn` once per backward, when gradients of `tensors` have been computed.

    Parameters
    ----------
    tensors
        Tensors that require grad.
    fn
        With mode ``'all'`` called with a list of gradients, None where the backward computes none,
        as soon as the last is there; with ``'any'`` with the first gradient.
    mode
        ``'all'`` or ``'any'``. Default: ``'all'``.

    Raises
    ------
    ValueError
        For any other mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    lock = renewed_after_fork(Lock())
    if mode == "any":
        done: set[int] = set()

        def first(grad: TensorBase) -> None:
            task = current_task.get()
            with lock:
                number = -1 if task is None else task.id
                if number in done:
                    return
                done.clear()
                done.add(number)
            fn(grad)  # type: ignore[arg-type]

        return MultiGradHandle([tensor.register_hook(first) for tensor in tensors])

    edges = [get_gradient_edge(tensor) for tensor in tensors]
    waiting: dict[int, int] = {}
    gathered: dict[int, list[TensorBase | None]] = {}

    def hook_for(index: int) -> Callable[[TensorBase], None]:
        def hook(grad: TensorBase) -> None:
            task = current_task.get()
            assert task is not None
            with lock:
                if task.id not in waiting:
                    waiting[task.id] = sum([task.gets_gradient(edge.node) for edge in edges])
                    gathered[task.id] = [None] * len(tensors)
                gathered[task.id][index] = grad
                waiting[task.id] -= 1
                if waiting[task.id]:
                    return
                del waiting[task.id]
                grads = gathered.pop(task.id)
            fn(grads)  # type: ignore[arg-type]

        return hook

    return MultiGradHandle(
        [tensor.register_hook(hook_for(index)) for index, tensor in enumerate(tensors)]
    )
