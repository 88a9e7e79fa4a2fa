"""Orthogonal polynomials by their recurrences, one launch each: CuPy has none of SciPy's."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import cupy

from .kernel_namespace import like_operands

_STEPS: Final = {
    "chebyt": ("x", "2 * x * now - before"),
    "chebyu": ("2 * x", "2 * x * now - before"),
    "hermite": ("2 * x", "2 * x * now - 2 * k * before"),
    "hermitenorm": ("x", "x * now - k * before"),
    "laguerre": ("1 - x", "((2 * k + 1 - x) * now - k * before) / (k + 1)"),
    "legendre": ("x", "((2 * k + 1) * x * now - k * before) / (k + 1)"),
}
"""The polynomial of degree 1, and that of degree ``k + 1`` made of ``now``, of degree `k`, and the
one ``before``.
"""


@cache
def polynomial(name: str) -> Any:
    """Return the function of whole degrees and float64 that SciPy calls ``eval_NAME``; below degree
    0 it gives 0. None for a name that there is not.
    """
    if name not in _STEPS:
        return None
    first, following = _STEPS[name]
    code = f"""
        double before = 1, now = {first};
        for (long long k = 1; k < degree; k++) {{
          const double next = {following};
          before = now;
          now = next;
        }}
        y = degree < 0 ? 0 : degree == 0 ? 1 : now;
    """
    kernel = cupy.ElementwiseKernel(
        "int64 degree, float64 x", "float64 y", code, f"dovetail_{name}"
    )
    return like_operands(kernel)
