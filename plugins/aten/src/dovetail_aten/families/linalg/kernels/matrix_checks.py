"""What operators of linear algebra refuse, in PyTorch's words: shapes, dtypes, and matrices that
have no solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bfloat16, dtype, float16
from dovetail_kernel.types import FLOAT

from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array

_HALVES = (float16, bfloat16)


class LinAlgError(RuntimeError):
    """Raised for a matrix that cannot be factored, inverted or solved with."""


LinAlgError.__module__ = "dovetail.linalg"


def check_matrix(name: str, shape: Sequence[int], argument: str = "A") -> None:
    """Raise an error for an array of fewer than two dimensions.

    Raises
    ------
    RuntimeError
        Naming the function and the argument.
    """
    if len(shape) < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions. "
            "Use unsqueeze for a vector."
        )


def check_factored(shape: Sequence[int]) -> None:
    """Raise an error for arguments that lu_factor does not support. Raises RuntimeError with the
    sizes.
    """
    if len(shape) < 2:
        raise RuntimeError(
            "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(shape)} instead. Use unsqueeze for a vector."
        )


_FOR_OTHERS = {
    "linalg.inv": " Use linalg.pinv for others.",
    "linalg.solve": " Use linalg.lstsq for others.",
    "linalg.eig": " Use linalg.svd for others.",
    "linalg.eigvals": " Use linalg.svdvals for others.",
}


def check_square(name: str, shape: Sequence[int], argument: str = "A") -> None:
    """Raise an error for an array that is not a square matrix or a batch of square matrices.

    Raises
    ------
    RuntimeError
        With the sizes.
    """
    check_matrix(name, shape, argument)
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices.{_FOR_OTHERS.get(name, ' Give as many rows as columns.')}"
        )


def check_trace(x: Array, own: dtype) -> None:
    """Check the argument of trace.

    Raises
    ------
    RuntimeError, NotImplementedError
        With PyTorch's message.
    """
    if x.ndim != 2:
        raise RuntimeError(
            f"trace: expected a matrix, but got tensor with dim {x.ndim}. Take the sum of "
            "diagonal(dim1=-2, dim2=-1) for a batch."
        )
    if own.scalar_name == "Bool":
        raise NotImplementedError(
            "\"trace\" not implemented for 'Bool'. Convert to a number dtype."
        )


def check_inexact(name: str, own: dtype, *, halves: bool = True) -> None:
    """Raise an error for integers and bools, and half precision unless `halves`. Raises
    RuntimeError with the dtype.
    """
    if own.category < FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{own.scalar_name}. Convert it."
        )
    if not halves and own in _HALVES:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {own.scalar_name}. Convert it to "
            "float32."
        )


def refuse_dtypes(kernel: str, own: dtype) -> None:
    """Raise an error for dtypes that LAPACK does not support.

    Raises
    ------
    NotImplementedError
        With PyTorch's message, which contains this name of the kernel.
    """
    if own.category < FLOAT or own in _HALVES:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{own.scalar_name}'. Convert to float32 or float64 "
            "first."
        )


def check_same_dtype(name: str, own: dtype, other: dtype) -> None:
    """Raise an error for operands of two dtypes. Raises RuntimeError with both."""
    if own is not other:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{own.scalar_name} and B of type {other.scalar_name} instead. Convert one of them."
        )


def check_old_system(
    name: str, shape: Sequence[int], right: Sequence[int], own: dtype, other: dtype
) -> tuple[int, ...]:
    """Check the operands of cholesky_solve, triangular_solve and ldl_solve; return the batch
    dimensions of both.

    Raises
    ------
    RuntimeError
        With the message of these functions.
    """
    for argument, sizes in (("b", right), ("A", shape)):
        if len(sizes) < 2:
            raise RuntimeError(
                f"{name}: Expected {argument} to have at least 2 dimensions, but it has "
                f"{len(sizes)} dimensions instead. Use unsqueeze."
            )
    check_square(name, shape)
    if right[-2] != shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {shape[-1]} by {shape[-1]} "
            f"but each b matrix is {right[-2]} by {right[-1]}. Transpose or reshape one of them."
        )
    if own is not other:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {other.scalar_name} and "
            f"A of type {own.scalar_name} instead. Convert one of them."
        )
    return broadcast_shapes([tuple(shape[:-2]), tuple(right[:-2])])


def is_vector_case(shape: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether the right-hand side of a system is a vector, or a batch of them: then its
    shape is that of the matrices without their last dimension.
    """
    return len(right) == 1 or (len(shape) - 1 == len(right) and tuple(right) == tuple(shape[:-1]))


def check_solvable(
    name: str, shape: Sequence[int], right: Sequence[int], left: bool
) -> tuple[int, ...]:
    """Raise an error for a right-hand side that does not fit its system; return the batch
    dimensions of both. Raises RuntimeError with the equation and the sizes.
    """
    check_matrix(name, right, "B")
    fits = right[-2] == shape[-1] if left else right[-1] == shape[-1]
    if not fits:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({shape[-2]}x"
            f"{shape[-1]} and {right[-2]}x{right[-1]}). Transpose or reshape one of them."
        )
    return broadcast_shapes([tuple(shape[:-2]), tuple(right[:-2])])


_REASONS = {
    "inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the input "
        "matrix is singular"
    ),
    "solve": "The solver failed because the input matrix is singular",
    "cholesky": (
        "The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order {} is not positive-definite)"
    ),
    "eigen": (
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
        "many repeated eigenvalues (error code: {})"
    ),
    "svd": (
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
        "many repeated singular values (error code: {})"
    ),
    "nonfinite": (
        "The algorithm failed to converge because the input matrix contained non-finite values"
    ),
    "lu": (
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you "
        "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    ),
    "ldl": (
        "The diagonal element {} of the block diagonal matrix is zero, and using it on ldl_solve "
        "would result in a division by zero"
    ),
}
_REMEDIES = {"inv": " Use linalg.pinv.", "solve": " Use linalg.lstsq."}


def failure(name: str, reason: str, infos: Sequence[int], shape: Sequence[int]) -> RuntimeError:
    """Return the error of the first matrix that failed.

    Parameters
    ----------
    name
        The name of the function in error messages.
    reason
        Why matrices fail, a key of `_REASONS`.
    infos
        LAPACK's info for each matrix, 0 for success.
    shape
        The batch dimensions.
    """
    place, info = next(iter([(at, info) for at, info in enumerate(infos) if info]))
    batch = f"(Batch element {place}): " if math.prod(shape) > 1 or shape else ""
    kind: Any = RuntimeError if reason in ("lu", "ldl") else LinAlgError
    text = f"{name}: {batch}{_REASONS[reason].format(info)}.{_REMEDIES.get(reason, '')}"
    error: RuntimeError = kind(text)
    return error
