"""Fits a gradient that a node returned to the input it is for: shape, dtype and device, as the
engine promises them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import NoArrayKernelError
from dovetail_dispatcher.table import KernelNamespace
from dovetail_kernel import Backend, TensorBase, dtype, dtype_of_signature

from ...graph import engine_ops
from ...graph.node import Metadata, Node


def is_expandable(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Return whether an array of `shape` broadcasts to the shape `to`."""
    if len(shape) > len(to):
        return False
    return all(
        [size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(to), strict=False)]
    )


def conform_array(
    node: Node,
    index: int,
    grad: Any,
    target: Node,
    metadata: Metadata,
    backend: Backend,
    kernels: KernelNamespace,
) -> Any:
    """Return the array `grad`, the gradient `index` that `node` returned, with the shape and native
    dtype that `target` wants; as it is if `target` is elsewhere. Raises RuntimeError if it cannot
    be summed to the shape, or a Function returned a complex gradient for a real input.
    """
    if target._array_backend is not backend and target._array_backend is not None:
        return grad
    shape, native = metadata
    found = grad.shape
    if found != shape:
        if found[len(found) - len(shape) :] != shape and not is_expandable(shape, found):
            raise _wrong_shape(node, index, found, shape)
        try:
            sum_to = kernels.sum_to
        except NoArrayKernelError:  # the base library is not installed
            sum_to = engine_ops.sum_array_to_shape
        grad = sum_to(grad, shape)
    if grad.dtype != native and native is not None:
        bits = backend.arrays.dtype_bits
        given = dtype_of_signature(bits[grad.dtype])
        if isinstance(native, dtype):  # of a node on wrapped tensors
            wanted, native = native, backend.arrays.native_dtypes[native]
        else:
            wanted = dtype_of_signature(bits[native])
        if _check_category(node, index, given, wanted):
            grad = grad.real
        if grad.dtype != native:
            grad = backend.arrays.cast(grad, native)
    return grad


def conform_tensor(
    node: Node,
    index: int,
    grad: TensorBase,
    shape: tuple[int, ...],
    native: object,
    backend: Backend | None,
) -> TensorBase:
    """Return the tensor `grad`, the gradient `index` that `node` returned, with `shape`, dtype and
    device as needed. Raises RuntimeError if the shape cannot be summed, a Function returned a
    complex gradient for a real input, or the device differs.
    """
    array = grad.array
    if tuple(array.shape) != shape:
        if not is_expandable(shape, array.shape):
            raise _wrong_shape(node, index, array.shape, shape)
        grad = engine_ops.sum_to_size(grad, shape)
    if (
        backend is not None
        and grad._backend is not backend
        and backend.is_device
        and grad._backend.is_device
    ):
        if grad.array.shape != ():
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - expected "
                "device "
                f"{backend.name} but got {grad.device}. Move it to the device of the input."
            )
        grad = engine_ops.move(grad, backend.name)
    if native is not None and grad.array.dtype != native:
        wanted = _dtype_of(native, backend, grad)
        if wanted is not None:
            if _check_category(node, index, grad.dtype, wanted):
                grad = engine_ops.real(grad)
            if grad.dtype != wanted:
                grad = engine_ops.cast(grad, wanted)
    return grad


def conform_all(node: Node, grads: Sequence[TensorBase | None]) -> tuple[TensorBase | None, ...]:
    """Return what `node` returned, every gradient as it is needed where it goes."""
    conformed: list[TensorBase | None] = []
    for index, (edge, grad) in enumerate(zip(node.next_edges, grads, strict=True)):
        if edge is not None and grad is not None:
            target: Any = edge[0]
            metadata = target.input_metadata
            described: Any = metadata[edge[1]] if isinstance(metadata, list) else metadata
            shape, native = described
            grad = conform_tensor(node, index, grad, shape, native, target._array_backend)
        conformed.append(grad)
    return tuple(conformed)


def _dtype_of(native: object, backend: Backend | None, grad: TensorBase) -> dtype | None:
    """Return the dtype that `native` stands for where the gradient belongs; None if that is another
    kind of array.
    """
    if isinstance(native, dtype):
        return native
    bits = (
        backend if backend is not None and backend.is_device else grad._device_backend
    ).arrays.dtype_bits
    return dtype_of_signature(bits[native]) if native in bits else None


def _check_category(node: Node, index: int, given: dtype, wanted: dtype) -> bool:
    """Return whether to take the real part of a complex gradient."""
    if not given.is_complex or wanted.is_complex:
        return False
    if node._is_formula_node:
        return True
    raise RuntimeError(
        "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to "
        "be true, but got "
        f"false: {node.name()} returned a complex gradient at index {index} for a real input. "
        "Return its real part."
    )


def _wrong_shape(
    node: Node, index: int, given: Sequence[int], wanted: Sequence[int]
) -> RuntimeError:
    return RuntimeError(
        f"Function {node.name()} returned an invalid gradient at index {index} - got "
        f"{list(given)} but expected shape "
        f"compatible with {list(wanted)}. Return a gradient of the input's shape, or of one it "
        "broadcasts to."
    )
