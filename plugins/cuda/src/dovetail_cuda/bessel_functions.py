"""Bessel functions for which CuPy has other values than SciPy: at infinity, and of large numbers in
float32.
"""

from __future__ import annotations

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
_OVERFLOWING: Final = ("k0e", "k1e")
"""Products of what is infinite in float32 before the product is."""


def bessel(name: str, function: Any) -> Any:
    """Return `function`, CuPy's of that name, with SciPy's values; None for a function whose values
    are the same.
    """
    if name not in _AT_INFINITY:
        return None
    settle = _settling(name)

    def settled(x: Any) -> Any:
        wide = x.astype(np.float64, copy=False) if name in _OVERFLOWING else x
        return settle(x, function(wide).astype(x.dtype, copy=False))

    return like_operands(settled)


@cache
def _settling(name: str) -> Any:
    code = f"y = isinf(x) ? (T)({_AT_INFINITY[name]}) : value"
    return cupy.ElementwiseKernel("T x, T value", "T y", code, f"dovetail_{name}")
