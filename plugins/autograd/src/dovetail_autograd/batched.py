"""Gradients for a batch of output gradients: one backward under vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel.tensor_base import TensorBase


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

    The graph is run once, with batched gradients.

    Raises
    ------
    RuntimeError
        If a gradient is missing, or batch sizes differ.
    """
    if any([each is None for each in grad_outputs]) or len(grad_outputs) != len(outputs):
        raise RuntimeError("is_grads_batched=True needs one batched gradient per output. Give all of grad_outputs.")
    sizes = {each.array.shape[0] if each.array.ndim else None for each in grad_outputs if each is not None}
    if len(sizes) != 1 or None in sizes:
        raise RuntimeError(
            f"with is_grads_batched=True the gradients have to agree in size, but got {sorted(sizes, key=str)} for the "
            "first dimension."
        )
    from .transforms.batching import VmapLevel  # nobody else needs the transforms
    from .transforms.mapping import spread

    with VmapLevel(sizes.pop()) as level:
        wrapped = tuple([None if each is None else level.wrap(each) for each in grad_outputs])
        found = grad(outputs, inputs, wrapped, retain_graph, create_graph, allow_unused)
        return tuple([None if each is None else spread(level, each) for each in found])
