"""Kernels compiled by Numba for calls that NumPy is slow at: ``import numba_kernels`` puts them in
force, `LIBRARY._destroy` takes them out.

Each has a condition, and a reason that ``dovetail.explain`` prints. All other calls, derivatives,
`vmap` and shape rules are as they were.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from dovetail.library import Library

LIBRARY = Library("aten", "IMPL")
LEAST = 4096
"""From how many elements on loops are worth their call; below, NumPy's overhead is as small."""


def is_row_major(x: np.ndarray[Any, Any]) -> bool:
    """Return whether an array is float32 or float64, contiguous, aligned and not small."""
    return x.size >= LEAST and x.dtype.char in "fd" and x.flags.carray


# -- loops -----------------------------------------------------------------------------------------


@numba.njit(nogil=True)
def gelu_loop(x: Any, out: Any) -> None:
    """Write x · Φ(x) into `out`, both flat."""
    for i in range(x.size):
        out[i] = x[i] * 0.5 * (1.0 + math.erf(x[i] * 0.7071067811865476))


@numba.njit(nogil=True)
def norm_loop(x: Any, weight: Any, bias: Any, eps: float, out: Any, mean: Any, rstd: Any) -> None:
    """Normalize the rows of the matrix `x`, and note mean and reciprocal deviation of each."""
    rows, columns = x.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        center = total / columns
        squares = 0.0
        for j in range(columns):
            squares += (x[i, j] - center) ** 2
        scale = 1.0 / math.sqrt(squares / columns + eps)
        mean[i], rstd[i] = center, scale
        for j in range(columns):
            out[i, j] = (x[i, j] - center) * scale * weight[j] + bias[j]


# -- kernels ---------------------------------------------------------------------------------------


def gelu(x: Any, approximate: str) -> Any:
    """Return x · Φ(x)."""
    out = np.empty_like(x)
    gelu_loop(x.ravel(), out.ravel())
    return out


def native_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Return normalized rows, their means and their reciprocal deviations."""
    out, kept, rows = np.empty_like(x), (*x.shape[:-1], 1), (-1, x.shape[-1])
    mean, rstd = np.empty(kept, x.dtype), np.empty(kept, x.dtype)
    norm_loop(x.reshape(rows), weight, bias, eps, out.reshape(rows), mean.ravel(), rstd.ravel())
    return out, mean, rstd


# -- conditions ------------------------------------------------------------------------------------


def is_exact(x: Any, approximate: str = "none") -> bool:
    """Return whether a call is the exact gelu of a suitable array."""
    return approximate == "none" and is_row_major(x)


def is_affine(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> bool:
    """Return whether rows of a suitable matrix are scaled and shifted in their own dtype."""
    return (
        len(shape) == 1
        and is_row_major(x)
        and weight is not None
        and bias is not None
        and weight.dtype == bias.dtype == x.dtype
    )


WORDS = f"float32 or float64, contiguous, {LEAST} elements or more"
LIBRARY.array_impl("gelu", gelu, "CPU", when=is_exact, why=f"{WORDS}, not approximate")
LIBRARY.array_impl(
    "native_layer_norm", native_layer_norm, "CPU", when=is_affine, why=f"{WORDS}, affine, one dim"
)
