"""`backward` and `grad`: checks their arguments, makes the first gradients, and runs the engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, TypeAlias

from dovetail_kernel.devices.backends import backend_of_signature
from dovetail_kernel.keys.interception import NOT_PLAIN, PYTHON_DISPATCH
from dovetail_kernel.keys.state import AutoDispatchBelowAutograd, DisableTorchFunction, state
from dovetail_kernel.tensor.tensor_base import TensorBase, new_tensor, tensor_class
from dovetail_kernel.types.dtype import DTYPES
from dovetail_kernel.types.signature import (
    DTYPE_MASK,
    GRAD,
    INFERENCE,
    NO_GRAD,
    NORMAL,
    VIEW,
    WRAPPED_BIT,
    ZERO_DIM,
)

from ..graph import engine_ops as calls
from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.node import EdgeTuple, Metadata
from .active_levels import active_levels, is_in_transform
from .anomaly import anomaly_mode
from .engine import array_side, execute, execute_plainly
from .graph_hooks import GradientEdge
from .graph_task import current_task

Output: TypeAlias = TensorBase | GradientEdge
FLOATING: Final = sum([each.bit for each in DTYPES if each.is_floating_point])
"""The bits of a signature that say that the numbers are real and not integers."""

_UNUSUAL: Final = NOT_PLAIN | VIEW | WRAPPED_BIT | INFERENCE

_OF_NUMBERS: Final = ~(GRAD | VIEW | NOT_PLAIN)
"""The bits of a signature that are not about the tensor's place in a graph or its class."""

_warned_of_cycle: list[bool] = []


def backward(
    tensors: Output | Sequence[Output],
    grad_tensors: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: TensorBase | Sequence[TensorBase | None] | None = None,
    inputs: Output | Sequence[Output] | None = None,
) -> None:
    """Add the gradients of `tensors` to the ``.grad`` of the leaves of their graph.

    Parameters
    ----------
    tensors
        One or several tensors, or gradient edges, to differentiate.
    grad_tensors
        The gradient to begin with for each; None for a real scalar, which begins with 1.
    retain_graph
        Keep what the graph saved for another backward. Default: the value of `create_graph`.
    create_graph
        Record the backward itself.
    grad_variables
        Old name of `grad_tensors`.
    inputs
        Accumulate into these only. Default: into every leaf.

    Raises
    ------
    RuntimeError
        For outputs without graph, gradients of another shape, an empty `inputs`, or values freed by
        an earlier run.
    """
    if active_levels():
        _check_not_in_transform()
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed. Use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted: list[EdgeTuple] | None = None
    if inputs is not None:
        given = as_tuple(inputs)
        if not given:
            raise RuntimeError(
                "`inputs` argument to `backward()` cannot be empty. Leave it out to reach every "
                "leaf."
            )
        wanted = []
        for each in given:
            if isinstance(each, TensorBase) and not each.is_leaf:
                each.retain_grad()
            wanted.append(
                _edge_of_input(each, "can't retain_grad on Tensor that has requires_grad=False")
            )
    roots, grads = _roots(as_tuple(tensors), grad_tensors)
    if create_graph and not _warned_of_cycle:
        _warned_of_cycle.append(True)
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when "
            "creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your "
            "parameters to None "
            "after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=2,
        )
    execute(
        roots, grads, create_graph if retain_graph is None else retain_graph, create_graph, wanted
    )


def _check_not_in_transform() -> None:
    if is_in_transform():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "dovetail.func.grad or "
            "dovetail.func.vjp instead or call backward() outside of functorch transforms."
        )


def backward_of_one(
    tensor: TensorBase,
    gradient: TensorBase | None,
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Any,
) -> None:
    """Do what `backward` does for one tensor, with a way of its own to the engine in the common
    case.
    """
    if create_graph or inputs is not None:
        backward((tensor,), (gradient,), retain_graph, create_graph, None, inputs)
        return
    if active_levels():
        _check_not_in_transform()
    signature = tensor._signature
    if (
        signature & GRAD
        and not signature & _UNUSUAL
        and not state() & ~NO_GRAD
        and current_task.get() is None
        and not anomaly_mode()[0]
    ):
        node = tensor._grad_fn
        edge: EdgeTuple = leaf_edge(tensor) if node is None else (node, tensor.output_nr)
        if gradient is None:
            if signature & ZERO_DIM and signature & FLOATING:
                side = array_side(backend_of_signature(signature))
                one = side.backend.arrays.scalar(1, tensor.array.dtype)
                execute_plainly(edge, one, None, side, bool(retain_graph))
                return
        elif isinstance(gradient, TensorBase):
            array = gradient.array
            if not (signature ^ gradient._signature) & ~GRAD and array.shape == tensor.array.shape:
                execute_plainly(
                    edge,
                    array,
                    gradient,
                    array_side(backend_of_signature(signature)),
                    bool(retain_graph),
                )
                return
    root = _root(0, tensor, gradient)
    execute((root[0],), (root[1],), bool(retain_graph), False)


def grad(
    outputs: Output | Sequence[Output],
    inputs: Output | Sequence[Output],
    grad_outputs: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[TensorBase | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, leaving every ``.grad`` alone.

    Parameters
    ----------
    outputs
        One or several tensors, or gradient edges, to differentiate.
    inputs
        One or several tensors, or gradient edges, to differentiate by.
    grad_outputs
        The gradient to begin with for each output; None for a real scalar, which begins with 1.
    retain_graph
        Keep what the graph saved. Default: the value of `create_graph`.
    create_graph
        Record the backward itself, for higher derivatives.
    allow_unused
        Return None for an input that `outputs` do not depend on. Default: the value of
        `materialize_grads`.
    is_grads_batched
        The first dimension of `grad_outputs` runs over several gradients; the results are stacked
        likewise.
    materialize_grads
        Return zeros instead of None.

    Returns
    -------
    tuple
        One gradient per input.

    Raises
    ------
    RuntimeError
        For an unused input, outputs without graph, gradients of another shape, or values freed by
        an earlier run.
    ValueError
        If `allow_unused` is False and `materialize_grads` True.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    wanted_inputs = as_tuple(inputs)
    if not wanted_inputs:
        raise RuntimeError(
            "`inputs` argument to `grad()` cannot be empty. Name at least one tensor."
        )
    wanted = [
        _edge_of_input(each, "One of the differentiated Tensors does not require grad")
        for each in wanted_inputs
    ]
    if is_grads_batched:
        return _grad_batched(
            grad,
            as_tuple(outputs),
            inputs,
            as_tuple(grad_outputs),
            retain_graph,
            create_graph,
            allow_unused,
        )
    roots, grads = _roots(as_tuple(outputs), grad_outputs)
    found = list(
        execute(
            roots,
            grads,
            create_graph if retain_graph is None else retain_graph,
            create_graph,
            wanted,
            True,
        )
    )
    for index, (each, gradient) in enumerate(zip(wanted_inputs, found, strict=True)):
        if gradient is not None:
            continue
        if not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the "
                "graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        if materialize_grads and isinstance(each, TensorBase):
            found[index] = calls.filled_like(each, 0)
    return tuple(found)


_grad_batched: Callable[..., tuple[TensorBase | None, ...]]
"""What `grad` does with ``is_grads_batched=True``; installed with autograd."""


def set_grad_batched(function: Callable[..., tuple[TensorBase | None, ...]]) -> None:
    """Install what `grad` does with ``is_grads_batched=True``."""
    global _grad_batched
    _grad_batched = function


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Return `values` as a tuple; one tensor, gradient edge or None stands for a tuple of one."""
    if isinstance(values, (TensorBase, GradientEdge)) or values is None:
        return (values,)
    return tuple(values)


def _edge_of_input(value: Any, message: str) -> EdgeTuple:
    if isinstance(value, GradientEdge):
        return value.node, value.output_nr
    value = _recorded(value)
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"inputs have to be Tensors or GradientEdges, but got {type(value).__name__}."
        )
    edge = gradient_edge(value)
    if edge is None:
        raise RuntimeError(f"{message}. Call requires_grad_() on it before it is used.")
    return edge


def _roots(outputs: tuple[Any, ...], grad_outputs: Any) -> tuple[list[EdgeTuple], list[TensorBase]]:
    gradients = (None,) * len(outputs) if grad_outputs is None else as_tuple(grad_outputs)
    if len(gradients) != len(outputs):
        raise RuntimeError(
            f"got {len(outputs)} tensors and {len(gradients)} gradients. Give one gradient, or "
            "None, per tensor."
        )
    roots: list[EdgeTuple] = []
    grads: list[TensorBase] = []
    for index, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        edge, gradient = _root(index, output, gradient)
        roots.append(edge)
        grads.append(gradient)
    return roots, grads


def _root(index: int, output: Any, gradient: Any) -> tuple[EdgeTuple, TensorBase]:
    if isinstance(output, GradientEdge):
        edge: EdgeTuple | None = (output.node, output.output_nr)
        shape = _metadata(output)[0]
    else:
        output = _recorded(output)
        edge = gradient_edge(output)
        shape = output.array.shape
    gradient = _one(output, shape) if gradient is None else _checked(index, gradient, output, shape)
    if edge is None:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn. "
            "Compute it, in grad mode, "
            "from a tensor that requires grad."
        )
    return edge, gradient


def _recorded(value: Any) -> Any:
    """Return `value`; for a dual tensor that itself has no graph, the primal that may have one."""
    while isinstance(value, TensorBase) and value._signature & (WRAPPED_BIT | GRAD) == WRAPPED_BIT:
        if value.array.kind != "DualTensor":
            break
        value = value.array.physical
    return value


def _metadata(edge: GradientEdge) -> Metadata:
    metadata = edge.node.input_metadata
    return metadata[edge.output_nr] if isinstance(metadata, list) else metadata


def _one(output: Any, shape: tuple[int, ...]) -> TensorBase:
    if shape and prod(shape) != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs, but the shape is "
            f"{list(shape)}. "
            "Reduce it to a scalar, or give its gradient."
        )
    if isinstance(output, GradientEdge):
        native, backend = _metadata(output)[1], output.node._array_backend
        if backend is None:
            raise RuntimeError(
                "grad cannot be implicitly created for an edge of unknown backend. Give its "
                "gradient."
            )
        return calls.filled(shape, native, backend, 1)
    if not output._signature & FLOATING:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}. "
            "Give its gradient."
        )
    if output._signature & WRAPPED_BIT:
        return calls.filled_like(output, 1)
    if state() & ~NO_GRAD or output._signature & PYTHON_DISPATCH:
        with AutoDispatchBelowAutograd(), DisableTorchFunction():
            return calls.ones_like(output)
    arrays = output._backend.arrays
    if shape:
        return calls.filled(shape, output.array.dtype, output._backend, 1)
    one = arrays.scalar(1, output.array.dtype)
    return new_tensor(one, output._signature & _OF_NUMBERS | NORMAL, tensor_class())


def _checked(index: int, gradient: Any, output: Any, shape: tuple[int, ...]) -> TensorBase:
    if not isinstance(gradient, TensorBase):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if gradient.array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and "
            f"output[{index}] has a shape "
            f"of dovetail.Size({list(shape)}). Give a gradient of the output's shape."
        )
    differs = (
        isinstance(output, TensorBase) and (gradient._signature ^ output._signature) & DTYPE_MASK
    )
    if differs and (output.dtype.is_complex or gradient.dtype.is_complex):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            "dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {gradient.dtype} and output[{index}] has a "
            f"dtype of {output.dtype}."
        )
    return gradient
