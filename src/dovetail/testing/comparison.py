"""Differences between arrays: tolerances by dtype, and PyTorch's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovetail_aten import Tensor
from dovetail_kernel import bfloat16, complex64, complex128, dtype, float16, float32, float64

TOLERANCES: Final[dict[dtype, tuple[float, float]]] = {
    bfloat16: (1.6e-2, 1e-5),
    float16: (1e-3, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""``(rtol, atol)`` by dtype, PyTorch's; dtypes that are not here have to agree exactly."""


def tolerance_of(*dtypes: dtype) -> tuple[float, float]:
    """Return the widest ``(rtol, atol)`` of some dtypes."""
    found = [TOLERANCES.get(each, (0.0, 0.0)) for each in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Return the values of a tensor on any device; inexact dtypes are converted to double
    precision.
    """
    tensor = tensor.detach()
    if tensor.dtype.is_floating_point:
        tensor = tensor.cpu().to(float64)
    elif tensor.dtype.is_complex:
        tensor = tensor.cpu().to(complex128)
    return np.array(tensor.cpu().numpy())


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerance for values.

    Attributes
    ----------
    rtol, atol
        ``|actual - expected| <= atol + rtol * |expected|``.
    equal_nan
        Whether NaN equals NaN.
    """

    rtol: float
    atol: float
    equal_nan: bool

    @property
    def exact(self) -> bool:
        """Whether only equal values agree."""
        return self.rtol == 0 and self.atol == 0

    def agree(self, actual: NDArray[Any], expected: NDArray[Any]) -> Any:
        """Return a mask of the elements in which two arrays of equal dtype agree."""
        same = actual == expected
        if self.equal_nan:
            same |= np.isnan(actual) & np.isnan(expected)
        if self.exact:
            return same
        error = abs(actual - expected)
        return same | np.isfinite(error) & (error <= self.atol + abs(self.rtol * expected))


def difference_of_arrays(
    actual: NDArray[Any], expected: NDArray[Any], tolerance: Tolerance
) -> str | None:
    """Return how the values of two arrays of one shape and dtype differ, or None.

    Parameters
    ----------
    actual, expected
        The arrays. Integers and booleans are converted to one signed dtype.
    tolerance
        How far they may be apart.
    """
    with np.errstate(all="ignore"):
        agree = np.atleast_1d(tolerance.agree(actual, expected))
        if agree.all():
            return None
        if actual.ndim == 0:
            return _text_of_numbers(actual.item(), expected.item(), tolerance)
        absolute = abs(actual - expected)
        inexact = np.float32 if expected.dtype.kind == "i" else absolute.dtype
        relative = absolute.astype(inexact) / abs(expected).astype(inexact)
    count = int((~agree).sum())
    lines = [
        f"Tensor-likes are not {'equal' if tolerance.exact else 'close'}!",
        "",
        f"Mismatched elements: {count} / {agree.size} ({count / agree.size:.1%})",
        _greatest("absolute", np.where(agree, 0, absolute), tolerance.atol, tolerance),
        _greatest("relative", np.where(agree, 0, relative), tolerance.rtol, tolerance),
    ]
    return "\n".join(lines)


def _greatest(kind: str, differences: NDArray[Any], allowed: float, tolerance: Tolerance) -> str:
    place = np.unravel_index(int(np.argmax(differences)), differences.shape)
    index = tuple(int(each) for each in place)
    text = f"Greatest {kind} difference: {differences[place].item()} at index {index}"
    return text if tolerance.exact else f"{text} (up to {allowed} allowed)"


def difference_of_numbers(actual: complex, expected: complex, tolerance: Tolerance) -> str | None:
    """Return how two numbers differ, or None."""
    with np.errstate(all="ignore"):
        agree = tolerance.agree(np.asarray(actual), np.asarray(expected))
    return None if agree else _text_of_numbers(actual, expected, tolerance)


def _text_of_numbers(actual: complex, expected: complex, tolerance: Tolerance) -> str:
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected else float("inf")
    limits = ("", "")
    if not tolerance.exact:
        limits = f" (up to {tolerance.atol} allowed)", f" (up to {tolerance.rtol} allowed)"
    return (
        f"Scalars are not {'equal' if tolerance.exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{limits[0]}\n"
        f"Relative difference: {relative}{limits[1]}"
    )
