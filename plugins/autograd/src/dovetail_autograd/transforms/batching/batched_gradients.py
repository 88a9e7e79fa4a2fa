"""Gradients for a batch of output gradients: one backward under vmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail_kernel import TensorBase

from ...graph import engine_ops
from ..wrapped.levels import leaves_levels
from .batch_interpreter import GradBatchLevel


def unstack(tensor: TensorBase) -> list[TensorBase]:
    """Return the entries of `tensor` along its first dimension."""
    return list(engine_ops.list_operator("unbind", "int")(tensor, 0))


def stack(tensors: Sequence[TensorBase]) -> TensorBase:
    """Return `tensors` stacked along a new first dimension."""
    return engine_ops.operator("stack", "default")(list(tensors), 0)


@leaves_levels
def grad_batched(
    grad: Callable[..., tuple[TensorBase | None, ...]],
    outputs: tuple[object, ...],
    inputs: object,
    grad_outputs: tuple[TensorBase | None, ...],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[TensorBase | None, ...]:
    """Return what `grad`, the function of that name, returns for every entry of the `grad_outputs`,
    stacked.

    The graph is run once, with batched gradients. Raises RuntimeError if a gradient is missing, or
    batch sizes differ.
    """
    if any([each is None for each in grad_outputs]) or len(grad_outputs) != len(outputs):
        raise RuntimeError(
            "is_grads_batched=True needs one batched gradient per output. Give all of grad_outputs."
        )
    sizes = {
        each.array.shape[0] if each.array.ndim else -1 for each in grad_outputs if each is not None
    }
    if len(sizes) != 1 or -1 in sizes:
        shapes = ", ".join(
            [str(tuple(each.array.shape)) for each in grad_outputs if each is not None]
        )
        raise RuntimeError(
            "with is_grads_batched=True the gradients have to agree in size in their first "
            "dimension, but their shapes "
            f"are {shapes}."
        )
    with GradBatchLevel(sizes.pop()) as level:
        wrapped = tuple([None if each is None else level.wrap(each) for each in grad_outputs])
        found = grad(
            outputs, inputs, wrapped, retain_graph, create_graph, allow_unused=allow_unused
        )
        return tuple([None if each is None else level.spread(each) for each in found])
