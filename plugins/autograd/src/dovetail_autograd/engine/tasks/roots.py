"""The roots of a backward: the edges of its outputs, and the first gradient at each, given or 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, TypeAlias

from dovetail_kernel import DTYPES, TensorBase, set_state, state, tensor_class
from dovetail_kernel.keys import NOT_PLAIN, PYTHON_DISPATCH, below_autograd, functions_as_they_are
from dovetail_kernel.signature import (
    DTYPE_MASK,
    GRAD,
    INFERENCE,
    NO_GRAD,
    NORMAL,
    VIEW,
    WRAPPED_BIT,
    ZERO_DIM,
)
from dovetail_kernel.tensor import new_tensor

from ...graph import engine_ops
from ...graph.autograd_meta import gradient_edge, leaf_edge
from ...graph.node import EdgeTuple, GradientEdge, Metadata
from ..anomaly import anomaly_mode
from .array_backend_of_task import ArraySide, array_side
from .graph_task import current_task

Output: TypeAlias = TensorBase | GradientEdge
PlainRoot: TypeAlias = tuple[EdgeTuple, Any, TensorBase | None, ArraySide]
"""An edge; the array of the gradient that arrives there, and the tensor that holds it or None; and
the array side of its backend.
"""
_FLOATING: Final = sum([each.bit for each in DTYPES if each.is_floating_point])
"""The bits of a signature that say that the numbers are real and not integers."""

_OF_GRAPH: Final = GRAD | VIEW
"""The bits of a signature that are about the tensor's place in a graph."""
_OF_OTHERS: Final = ~_OF_GRAPH
_OF_NUMBERS: Final = ~(_OF_GRAPH | NOT_PLAIN)
"""The bits of a signature that are neither about that nor about its class."""
_KIND: Final = _OF_GRAPH | NOT_PLAIN | WRAPPED_BIT | INFERENCE
"""The bits of a signature that decide on the way to the engine."""
_MODES: Final = ~NO_GRAD
"""The bits of a state that say more than whether graphs are recorded."""


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Return `values` as a tuple; one tensor, gradient edge or None stands for a tuple of one."""
    if isinstance(values, (TensorBase, GradientEdge)) or values is None:
        return (values,)
    return tuple(values)


def edge_of_input(value: object, message: str) -> EdgeTuple:
    """Return the edge at which the gradient of the tensor or gradient edge `value` arrives. Raises
    RuntimeError with `message`, for a tensor that does not require grad; and for anything else.
    """
    if isinstance(value, GradientEdge):
        return value.node, value.output_nr
    value = recorded(value)
    if not isinstance(value, TensorBase):
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}"
        )
    edge = gradient_edge(value)
    if edge is None:
        raise RuntimeError(f"{message}. Call requires_grad_() on it before it is used.")
    return edge


def make_grads(outputs: Sequence[object], grad_outputs: object) -> tuple[TensorBase | None, ...]:
    """Return the gradient to begin with at each of `outputs`: what was given, else 1; None for an
    output without graph where there is no such 1. Raises TypeError if a gradient is not a tensor,
    and RuntimeError if there are not as many gradients as outputs, or one does not fit.
    """
    if grad_outputs is None:
        return tuple([_one(output) for output in outputs])
    gradients = as_tuple(grad_outputs)
    if len(gradients) != len(outputs):
        raise RuntimeError(
            f"got {len(outputs)} tensors and {len(gradients)} gradients. Give one gradient, or "
            "None, per tensor."
        )
    return tuple(
        [
            _one(outputs[index]) if given is None else _checked(index, given, outputs[index])
            for index, given in enumerate(gradients)
        ]
    )


def plain_root(tensor: object, gradient: object) -> PlainRoot | None:
    """Return where a run with nothing around it begins; None if anything but a plain tensor with a
    plain gradient takes part, or a mode or another run is under way.
    """
    if (
        state() & _MODES
        or current_task.get() is not None
        or anomaly_mode()[0]
        or not isinstance(tensor, TensorBase)
    ):
        return None
    signature = tensor._signature
    kind = signature & _KIND
    edge: EdgeTuple | None
    if kind == GRAD:
        node = tensor._grad_fn
        edge = leaf_edge(tensor) if node is None else (node, tensor.output_nr)
    elif kind == GRAD | VIEW:
        edge = gradient_edge(tensor)
        if edge is None:
            return None
    else:
        return None
    if gradient is None:
        if not signature & ZERO_DIM or not signature & _FLOATING:
            return None
        side = array_side(signature)
        arrays = side.backend.arrays
        array = arrays.scalar(1, tensor.array.dtype)
        if arrays.several_devices:
            array = arrays.to_device(array, arrays.device_index(tensor.array) or 0)
        return edge, array, None, side
    if not isinstance(gradient, TensorBase) or (signature ^ gradient._signature) & _OF_OTHERS:
        return None
    array = gradient.array
    if array.shape != tensor.array.shape:
        return None
    return edge, array, gradient, array_side(signature)


def recorded(value: object) -> Any:
    """Return `value`; for a dual tensor that itself has no graph, the primal that may have one."""
    while isinstance(value, TensorBase) and value._signature & (WRAPPED_BIT | GRAD) == WRAPPED_BIT:
        if value.array.kind != "DualTensor":
            break
        value = value.array.physical
    return value


def _metadata(edge: object) -> Metadata:
    """Return shape and native dtype of the gradient at a gradient edge."""
    if not isinstance(edge, GradientEdge):
        raise TypeError(
            f"only a Tensor or a GradientEdge can be differentiated, but got {type(edge).__name__}"
        )
    metadata = edge.node.input_metadata
    return metadata[edge.output_nr] if isinstance(metadata, list) else metadata


def _one(output: Any) -> TensorBase | None:
    """Return 1 for a real scalar; None for what has no graph where it is no such scalar."""
    if not isinstance(output, TensorBase):
        return _one_at(output)
    output = recorded(output)
    shape = output.array.shape
    if shape and prod(shape) != 1:
        if gradient_edge(output) is None:
            return None
        raise _not_scalar(shape)
    if not output._signature & _FLOATING:
        if gradient_edge(output) is None:
            return None
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}. "
            "Give its gradient."
        )
    if output._signature & WRAPPED_BIT:
        return engine_ops.filled_like(output, 1)
    if state() & ~NO_GRAD or output._signature & PYTHON_DISPATCH:
        before = state()
        try:
            set_state(functions_as_they_are(below_autograd(before)))
            return engine_ops.ones_like(output)
        finally:
            set_state(before)
    arrays = output._backend.arrays
    if shape:
        return engine_ops.filled(shape, output.array.dtype, output._backend, 1)
    one = arrays.scalar(1, output.array.dtype)
    return new_tensor(one, output._signature & _OF_NUMBERS | NORMAL, tensor_class())


def _one_at(edge: Any) -> TensorBase:
    """Return 1 for a gradient edge at which the gradient of a scalar arrives."""
    shape, native = _metadata(edge)
    backend = edge.node._array_backend
    if shape and prod(shape) != 1:
        raise _not_scalar(shape)
    if backend is None:
        raise RuntimeError(
            "grad cannot be implicitly created for an edge of unknown backend. Give its gradient."
        )
    return engine_ops.filled(shape, native, backend, 1)


def _not_scalar(shape: Sequence[int]) -> RuntimeError:
    return RuntimeError(
        "grad can be implicitly created only for scalar outputs, but the shape is "
        f"{list(shape)}. "
        "Reduce it to a scalar, or give its gradient."
    )


def _checked(index: int, gradient: Any, output: Any) -> TensorBase:
    """Return the gradient that was given for one output."""
    is_tensor = isinstance(output, TensorBase)
    shape = recorded(output).array.shape if is_tensor else _metadata(output)[0]
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
    differs = is_tensor and (gradient._signature ^ output._signature) & DTYPE_MASK
    if differs and (output.dtype.is_complex or gradient.dtype.is_complex):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            "dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {gradient.dtype} and output[{index}] has a "
            f"dtype of {output.dtype}."
        )
    return gradient
