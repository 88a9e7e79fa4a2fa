"""What operators refuse that take factors of matrices: LU factors with pivots, and the reflections
of a QR factorization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import dtype, int32

from .matrix_checks import check_solvable, check_square, refuse_dtypes


def check_lu_solve(
    LU: Any, pivots: Any, B: Any, own: dtype, places: dtype, right: dtype, left: bool
) -> tuple[int, ...]:
    """Check factors, pivots and a right-hand side; return the batch dimensions.

    Raises
    ------
    RuntimeError
        With PyTorch's message.
    """
    name = "linalg.lu_solve"
    if own is not right:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type "
            f"{own.scalar_name} and B of type {right.scalar_name} instead. Convert one."
        )
    if places is not int32:
        raise RuntimeError(
            f"{name}: pivots should be a Tensor of scalar type torch.int32. Give those that "
            "linalg.lu_factor returned."
        )
    check_square(name, LU.shape, "LU")
    batch = check_solvable(name, LU.shape, B.shape, left)
    if not pivots.ndim or LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix. "
            "Give those that linalg.lu_factor returned."
        )
    if tuple(LU.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    return batch


def check_pivots(shape: Sequence[int], least: int, are_rows: bool) -> None:
    """Raise an error for pivots without one row per step of a factorization.

    Raises
    ------
    RuntimeError
        With the number of steps.
    """
    if shape[-1:] != (least,) or not are_rows:
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive, one for "
            f"each of {least} steps. Did you properly pass the result of lu_factor?"
        )


def check_ldl_pivots(pivots: Sequence[int]) -> None:
    """Raise an error for pivots that no LDL factorization returns: LAPACK would write outside its
    arrays.

    Parameters
    ----------
    pivots
        Of every step a row, counted from 1; for a block of two steps minus that row, twice.

    Raises
    ------
    RuntimeError
        With the pivot.
    """
    count, step = len(pivots), 0
    while step < count:
        pivot, size = pivots[step], 1
        if pivot < 0:
            size = 2
            if pivots[step + 1 : step + 2] != [pivot]:
                raise RuntimeError(
                    f"Pivots given to ldl_solve must have each number below zero twice in a row, "
                    f"but step {step} has {pivot} alone. Did you properly pass the result of "
                    "ldl_factor?"
                )
        if not 1 <= abs(pivot) <= count:
            raise RuntimeError(
                "Pivots given to ldl_solve must all satisfy 1 <= |pivot| <= LD.size(-2), which is "
                f"{count}, but one is {pivot}. Did you properly pass the result of ldl_factor?"
            )
        step += size


def check_reflections(input: Any, tau: Any, own: dtype, other: dtype) -> tuple[int, int]:
    """Check Householder reflections; return their sizes.

    Raises
    ------
    RuntimeError
        With PyTorch's message.
    """
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions. Use unsqueeze.")
    rows, columns = input.shape[-2:]
    if rows >= columns and tau.ndim and columns < tau.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]. Leave out "
            "some of tau."
        )
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.ndim} and input.ndim is equal to {input.ndim}. Use unsqueeze."
        )
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}. Expand one of them."
        )
    refuse_dtypes("orgqr_cpu", own)
    if other is not own:
        raise RuntimeError(
            f"{name}: tau dtype {other.scalar_name} does not match input dtype "
            f"{own.scalar_name}. Convert one of them."
        )
    if rows < columns:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]. Leave out "
            "columns."
        )
    return rows, columns


def check_ormqr(
    input: Any, tau: Any, other: Any, own: dtype, of_tau: dtype, right: dtype, left: bool
) -> None:
    """Check the shapes of reflections and a matrix.

    Raises
    ------
    RuntimeError
        With PyTorch's message.
    """
    name = "torch.ormqr"
    if input.ndim < 2 or other.ndim < 2:
        which = "input" if input.ndim < 2 else "other"
        raise RuntimeError(f"{name}: {which} must have at least 2 dimensions. Use unsqueeze.")
    side = -2 if left else -1
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: other.shape[{side}] must be equal to input.shape[-2]. Transpose one of them."
        )
    if not tau.ndim or tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1]). "
            "Give what geqrf returned."
        )
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.ndim} and input.ndim is equal to {input.ndim}. Use unsqueeze."
        )
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {input.ndim}. Use "
            "unsqueeze."
        )
    for label, each in (("tau", tau), ("other", other)):
        if tuple(each.shape[: input.ndim - 2]) != tuple(input.shape[:-2]):
            raise RuntimeError(
                f"{name}: Expected batch dimensions of {label} to be equal to input.shape[:-2], "
                f"but got {list(each.shape[: input.ndim - 2])}. Expand one of them."
            )
    refuse_dtypes("ormqr_cpu", own)
    for label, kind in (("tau", of_tau), ("other", right)):
        if kind is not own:
            raise RuntimeError(
                f"{name}: Expected input and {label} to have the same dtype, but input has dtype "
                f"{own.scalar_name} and {label} has dtype {kind.scalar_name}. "
                "Convert one of them."
            )
