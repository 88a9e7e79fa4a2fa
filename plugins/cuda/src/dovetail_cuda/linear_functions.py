"""Functions of BLAS under the names that SciPy has for them, where CuPy has others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupyx.scipy.linalg


def blas_functions(names: Sequence[str], arrays: Sequence[Any]) -> list[Callable[..., Any]]:
    """Return functions as ``scipy.linalg.get_blas_funcs`` does; there is ``trsm`` alone."""
    return [_FUNCTIONS[name] for name in names]


def _trsm(alpha: float, a: Any, b: Any, *, side: bool, lower: bool, diag: bool) -> Any:
    """Return `x` of ``a @ x = alpha * b``, or, with `side`, of ``x @ a = alpha * b``."""
    solve = cupyx.scipy.linalg.solve_triangular
    if side:
        turned = solve(a.T, b.T, lower=not lower, unit_diagonal=diag)
        return alpha * turned.T
    return alpha * solve(a, b, lower=lower, unit_diagonal=diag)


_FUNCTIONS: dict[str, Callable[..., Any]] = {"trsm": _trsm}
