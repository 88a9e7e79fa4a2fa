"""Bessel functions that CuPy computes with other values than SciPy at infinity."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import cupy

from .kernel_namespace import like_operands

_AT_INFINITY: Final = {
    "i0": 'nanf("")',
    "i1": 'nanf("")',
    "i0e": "0",
    "i1e": "copysign(0.0, (double)x)",
}


def bessel(name: str, function: Any) -> Any:
    """Return `function`, CuPy's of that name, with SciPy's values at both infinities; None for a
    function whose values are the same.
    """
    if name not in _AT_INFINITY:
        return None
    settle = _settling(name)
    return like_operands(lambda x: settle(x, function(x)))


@cache
def _settling(name: str) -> Any:
    code = f"y = isinf(x) ? (T)({_AT_INFINITY[name]}) : value"
    return cupy.ElementwiseKernel("T x, T value", "T y", code, f"dovetail_{name}")
