"""Gradients for a batch of output gradients: one backward per entry, results stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel.tensor_base import TensorBase

from . import calls


def unstack(tensor: TensorBase) -> list[TensorBase]:
    """Return the entries of `tensor` along its first dimension."""
    return list(calls.operator("unbind", "int")(tensor, 0))


def stack(tensors: Sequence[TensorBase]) -> TensorBase:
    """Return `tensors` stacked along a new first dimension."""
    result: TensorBase = calls.operator("stack", "default")(list(tensors), 0)
    return result


def grad_batched(
    grad: Callable[..., tuple[TensorBase | None, ...]],
    outputs: tuple[Any, ...],
    inputs: Any,
    grad_outputs: tuple[TensorBase | None, ...],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[TensorBase | None, ...]:
    """Return what `grad`, the function of that name, returns for every entry of the `grad_outputs`, stacked.

    Raises
    ------
    RuntimeError
        If a gradient is missing, or batch sizes differ.
    """
    if any([each is None for each in grad_outputs]) or len(grad_outputs) != len(outputs):
        raise RuntimeError("is_grads_batched=True needs one batched gradient per output. Give all of grad_outputs.")
    batches = [unstack(each) for each in grad_outputs if each is not None]
    sizes = {len(batch) for batch in batches}
    if len(sizes) != 1:
        raise RuntimeError(f"with is_grads_batched=True the gradients have to agree in size, but got {sorted(sizes)}.")
    count = sizes.pop()
    keep = create_graph if retain_graph is None else retain_graph
    found = [
        grad(outputs, inputs, entry, keep or index + 1 < count, create_graph, allow_unused)
        for index, entry in enumerate(zip(*batches, strict=True))
    ]
    columns = zip(*found, strict=True)
    return tuple([None if column[0] is None else stack(column) for column in columns])
