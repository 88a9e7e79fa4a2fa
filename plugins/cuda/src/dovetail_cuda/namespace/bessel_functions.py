"""Bessel functions for which CuPy has other values than SciPy: at infinity, and the scaled ones of
large numbers, which CuPy computes as a product of zero and infinity.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import cupy
import numpy as np

from .kernel_namespace import like_operands

_NAN: Final = 'nanf("")'
_AT_INFINITY: Final = {
    **dict.fromkeys(("i0", "i1", "j0", "j1", "y0", "y1"), _NAN),
    "i0e": "0",
    "i1e": "copysign(0.0, (double)x)",
    **dict.fromkeys(("k0e", "k1e"), f"x > 0 ? 0 : {_NAN}"),
}
_SCALED: Final = {"i0e": (0, -1), "i1e": (1, -1), "k0e": (0, 1), "k1e": (1, 1)}
"""The order of each scaled function, and the sign of ``1 / x`` in its series for large `x`."""

_FAR: Final = 500.0
"""From where on the series is taken: both factors of the product are finite below it."""


def bessel(name: str, function: Any) -> Any:
    """Return `function`, CuPy's of that name, with SciPy's values; None for a function whose values
    are the same.
    """
    if name not in _AT_INFINITY:
        return None
    settle = _settling(name)

    def settled(x: Any) -> Any:
        wide = x.astype(np.float64, copy=False) if name in _SCALED else x
        return settle(x, function(wide).astype(x.dtype, copy=False))

    return like_operands(settled)


@cache
def _settling(name: str) -> Any:
    far = f"fabs((double)x) > {_FAR} ? (T)({_series(name)}) : value" if name in _SCALED else "value"
    code = f"y = isinf(x) ? (T)({_AT_INFINITY[name]}) : {far}"
    return cupy.ElementwiseKernel("T x, T value", "T y", code, f"dovetail_{name}")


def _series(name: str) -> str:
    """Return the expansion of a scaled function for large arguments, DLMF 10.40.1 and 10.40.2, up
    to the power five.
    """
    order, sign = _SCALED[name]
    magnitude = "fabs((double)x)"
    coefficients = [1.0]
    for k in range(1, 6):
        coefficients.append(coefficients[-1] * sign * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    summed = repr(coefficients[-1])
    for each in reversed(coefficients[:-1]):
        summed = f"({each!r} + {summed} / {magnitude})"
    if name[0] == "k":  # real for positive numbers only
        return f"x > 0 ? sqrt({math.pi / 2!r} / {magnitude}) * {summed} : {_NAN}"
    scaled = f"{summed} / sqrt({2 * math.pi!r} * {magnitude})"
    return f"copysign({scaled}, (double)x)" if order else scaled
