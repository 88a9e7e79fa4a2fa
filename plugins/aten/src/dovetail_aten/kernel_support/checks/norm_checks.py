"""Checks of norms, and the least norm that divides."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import dtype as Dtype
from dovetail_kernel import promote_types
from dovetail_kernel.types import FLOAT

from ..dims import wrap_dim

SMALL = 1e-7
"""What is added to a norm that is divided by."""


def check_renorm(shape: Any, p: Any, dim: int, maxnorm: Any) -> tuple[int, ...]:
    """Return the dimensions except `dim`, over which `renorm` takes norms. Raises RuntimeError for
    fewer than two dimensions, or if `p` or `maxnorm` is invalid, and IndexError if `dim` is out of
    range.
    """
    for name, number in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(number, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued, but got {number}")
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: {p}. Give more than 0.")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}. Give a length.")
    if len(shape) < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {len(shape)} dimensions. Add one."
        )
    own = wrap_dim(dim, len(shape))
    return tuple([axis for axis in range(len(shape)) if axis != own])


def check_wider(name: str, own: Dtype, wanted: Dtype) -> None:
    """Refuse to compute the norm of numbers of dtype `own` in a dtype that does not hold them."""
    if wanted.category < FLOAT:
        problem = f"dtype should be floating point or complex, but got {wanted.scalar_name}"
    elif own.is_complex != wanted.is_complex:
        which = "complex" if own.is_complex else "real"
        problem = f"dtype should be {which} for {which} inputs, but got {wanted.scalar_name}"
    elif promote_types(own, wanted) is not wanted:
        problem = (
            f"the dtype of the input ({own.scalar_name}) should be convertible without narrowing "
            f"to the specified dtype ({wanted.scalar_name})"
        )
    else:
        return
    raise RuntimeError(f"{name}: {problem}. Convert the tensor first.")
