"""Whether results are as exact as PyTorch's, given those of double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.outcomes import numbers

EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "complex64": 1.2e-7}
LIMITS = {"float16": 6e4, "bfloat16": 3e38, "float32": 3e38, "complex64": 3e38}
"""Sizes from which on a number may be infinite as well."""
EXACT = 1e-10
"""What double precision is compared by: there is nothing wider."""


def different(mine: Any, other: Any, best: Any) -> str:
    """Return how tensors differ: in dtype, shape, finiteness, or by more than rounding."""
    names = [str(each.dtype).rpartition(".")[2] for each in (mine, other)]
    if names[0] != names[1]:
        return f"dtype {names[0]}, not {names[1]}"
    if tuple(mine.shape) != tuple(other.shape):
        return f"shape {tuple(mine.shape)}, not {tuple(other.shape)}"
    own, theirs = numbers(mine), numbers(other)
    if own.dtype.kind not in "fc":
        places = np.flatnonzero(own.reshape(-1) != theirs.reshape(-1))
        return (
            f"{len(places)} of {own.size} integers differ, at {places[:3]}" if len(places) else ""
        )
    exact = theirs if best is None or tuple(best.shape) != own.shape else numbers(best)
    finite = np.isfinite(own) & np.isfinite(theirs) & np.isfinite(exact)
    # What is finite here and right, or overflows in another order of its terms, is no defect.
    odd = np.isfinite(own) != np.isfinite(theirs)
    odd |= np.isnan(own) & ~np.isnan(theirs)
    right = np.isfinite(own) & np.isclose(own, exact, 1e-2)
    odd &= ~right & ~(np.abs(exact) > LIMITS.get(names[0], 1e307))
    if odd.any():
        place = np.flatnonzero(odd.reshape(-1))[0]
        pair = own.reshape(-1)[place], theirs.reshape(-1)[place]
        return f"{pair[0]}, not {pair[1]}, at {place} and {int(odd.sum()) - 1} more"
    if not finite.any():
        return ""
    errors = [np.abs(each[finite] - exact[finite]) for each in (own, theirs)]
    top = np.abs(exact[finite]).max() or 1.0
    epsilon = EPSILON.get(names[0], EXACT)
    allowed = 4 * errors[1].max() + (8 if errors[1].any() else 64) * epsilon * top
    if errors[0].max() > allowed:
        return f"off by {errors[0].max() / top:.1e}, PyTorch by {errors[1].max() / top:.1e}"
    return ""
