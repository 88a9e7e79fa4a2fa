"""Gradients for code of the user, which may write to them: a copy of what something else holds.

An operator gives one gradient to all its operands where they have the same, and a Function may
return what it saved. A `backward` or a hook that writes to its gradient must not reach those.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any, Final

from dovetail_kernel import TensorBase, is_writable, wrap
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import GRAD, WRAPPED_BIT

from ...graph import engine_ops
from ...graph.accumulate import copy_like
from ...graph.autograd_meta import gradient_edge


def own_arrays(held: list[Any], is_mutable: bool) -> None:
    """Put a copy in the place of each array that something besides `held` holds.

    What cannot be written stays, as the gradient of a sum that is expanded.
    """
    if not is_mutable:
        return
    for index in range(len(held)):
        array = held[index]
        if array is None or not is_writable(array):
            continue
        of_array, of_base = _references(held, index)
        if of_array > _ALONE or of_base > _BASE_ALONE:
            held[index] = copy_like(array, array)


def own_tensors(held: list[TensorBase | None]) -> None:
    """Put a tensor of its own in the place of each that something besides `held` holds, or whose
    array something else holds; with the same graph, but for one that an operator has to copy.
    """
    for index in range(len(held)):
        tensor = held[index]
        if tensor is not None and _is_shared(tensor):
            held[index] = own(tensor)


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


def _is_shared(tensor: TensorBase) -> bool:
    if getrefcount(tensor) > _TENSOR_ALONE:
        return True
    if tensor._signature & WRAPPED_BIT or not tensor._backend.arrays.mutable_arrays:
        return False
    of_array, of_base = _references([tensor.array], 0)
    return of_array > _ALONE or of_base > _BASE_ALONE


def _references(held: list[Any], index: int) -> tuple[int, int]:
    """Return how many references `getrefcount` finds to an array that a caller has in a variable
    and to its base; 0 for no base.
    """
    array = held[index]
    base = getattr(array, "base", None)
    return getrefcount(array), 0 if base is None else getrefcount(base)


class _Probe:
    def __init__(self, base: object) -> None:
        self.base = base


def _counted() -> tuple[int, int]:
    """Count the references to what a list alone holds, as `own_arrays` does."""
    held = [_Probe(object())]
    for index in range(len(held)):
        array = held[index]  # noqa: F841 - the reference that is counted
        return _references(held, index)
    raise AssertionError


def _counted_tensor() -> int:
    """Count the references to a tensor that a list alone holds, as `own_tensors` does."""

    def is_shared(tensor: object) -> int:
        return getrefcount(tensor)

    held = [object()]
    for index in range(len(held)):
        tensor = held[index]
        return is_shared(tensor)
    raise AssertionError


_ALONE, _BASE_ALONE = _counted()
_TENSOR_ALONE: Final = _counted_tensor()
