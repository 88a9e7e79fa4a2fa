"""Gradients for code of the user, which may write to them: a copy of what something else holds.

An operator gives one gradient to all its operands where they have the same, and a Function may
return what it saved. A `backward` or a hook that writes to its gradient must not reach those.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase, is_writable, wrap
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import GRAD, WRAPPED_BIT
from dovetail_kernel.tensor import holders, is_shared

from ...graph import engine_ops
from ...graph.accumulate import copy_like
from ...graph.autograd_meta import gradient_edge


def own_arrays(held: list[Any], is_mutable: bool) -> None:
    """Put a copy in place of each array that something besides `held` holds.

    What cannot be written stays, as the gradient of a sum that is expanded.
    """
    if not is_mutable:
        return
    for index in range(len(held)):
        if held[index] is not None and is_writable(held[index]) and is_shared(held, index):
            held[index] = copy_like(held[index], held[index])


def own_tensors(held: list[TensorBase | None]) -> None:
    """Put a tensor of its own in place of each that something besides `held` holds, or whose
    array something else holds; with the same graph, but for one that an operator has to copy.
    """
    for index in range(len(held)):
        if held[index] is not None and _is_shared(held, index):
            held[index] = own(held[index])  # type: ignore[arg-type]  # it is no None


def own(tensor: TensorBase) -> TensorBase:
    """Return a tensor with the values and the graph of `tensor` and memory of its own; as it is if
    a class overrides its calls, or writes to it are refused.
    """
    if tensor._signature & WRAPPED_BIT:
        return engine_ops.clone(tensor)
    backend = tensor._backend
    array = tensor.array
    if tensor._signature & NOT_PLAIN or not backend.arrays.mutable_arrays or not is_writable(array):
        return tensor
    edge = gradient_edge(tensor) if tensor._signature & GRAD else None
    if edge is not None and edge[0]._is_leaf_node:
        return tensor
    made = wrap(copy_like(array, array), backend)
    if edge is not None:
        made._grad_fn, made.output_nr = edge[0], edge[1]
        made._signature |= GRAD
    return made


def _is_shared(held: list[TensorBase | None], index: int) -> bool:
    if holders(held, index):
        return True
    tensor: Any = held[index]
    if tensor._signature & WRAPPED_BIT or not tensor._backend.arrays.mutable_arrays:
        return False
    return is_shared([tensor.array], 0, others=1)
