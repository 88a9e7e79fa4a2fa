"""Functions of BLAS and LAPACK under the names and with the results that SciPy has for them, where
CuPy has others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import cupy
import cupyx.scipy.linalg
import numpy as np

from dovetail_aten.typing import Array

from ..waiting import waiting

_Function = Callable[..., Any]


def _blas(names: Sequence[str], arrays: Sequence[Array]) -> list[_Function]:
    """Return functions as ``scipy.linalg.get_blas_funcs`` does; there is ``trsm`` alone."""
    return [{"trsm": _trsm}[name] for name in names]


def _lapack(names: Sequence[str], arrays: Sequence[Array]) -> list[_Function]:
    """Return functions as ``scipy.linalg.get_lapack_funcs`` does: ``getrf`` and ``potrf``. Raises
    NotImplementedError for another one: CuPy offers no LDL factorization.
    """
    known: dict[str, _Function] = {"getrf": _getrf, "potrf": _potrf}
    for name in names:
        if name not in known:
            raise NotImplementedError(
                f"LAPACK's {name} is not available on device cuda: CuPy does not offer it. Move "
                "the matrices to the cpu: x.cpu()."
            )
    return [known[name] for name in names]


def _trsm(alpha: float, a: Array, b: Array, *, side: bool, lower: bool, diag: bool) -> Any:
    """Return `x` of ``a @ x = alpha * b``, or, with `side`, of ``x @ a = alpha * b``."""
    solve = cupyx.scipy.linalg.solve_triangular
    if side:
        turned = solve(a.T, b.T, lower=not lower, unit_diagonal=diag)
        return alpha * turned.T
    return alpha * solve(a, b, lower=lower, unit_diagonal=diag)


def _getrf(a: Array) -> tuple[Any, Any, Any]:
    """Return both triangular factors in one matrix, the rows exchanged, and the place of the first
    zero on the diagonal, counted from 1; 0 where there is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of that zero
        factor, pivots = cupyx.scipy.linalg.lu_factor(a, check_finite=False)
    zeros = cupy.diagonal(factor) == 0
    place = cupy.where(zeros.any(), zeros.argmax() + 1, 0)
    return factor, pivots, place.astype(np.int32)


_cholesky: Final = cupy.ElementwiseKernel(
    "int64 n",
    "raw T factor, raw int32 info",
    """
    info[0] = 0;
    for (long long k = 0; k < n; k++) {
      T rest = factor[k * n + k];
      for (long long j = 0; j < k; j++)
        rest -= factor[k * n + j] * conj(factor[k * n + j]);
      factor[k * n + k] = rest;
      const bool is_positive = real(rest) > 0;
      if (!is_positive) {
        info[0] = k + 1;
        break;
      }
      factor[k * n + k] = sqrt(rest);
      for (long long row = k + 1; row < n; row++) {
        for (long long j = 0; j < k; j++)
          factor[row * n + k] -= factor[row * n + j] * conj(factor[k * n + j]);
        factor[row * n + k] /= factor[k * n + k];
      }
    }
    """,
    "dovetail_cholesky",
    preamble="""
    __device__ float real(float x) { return x; }
    __device__ double real(double x) { return x; }
    __device__ float conj(float x) { return x; }
    __device__ double conj(double x) { return x; }
    """,
)
"""Of one matrix, in one thread: taken where some matrices of a batch fail."""


def _potrf(a: Array, *, lower: int) -> tuple[Any, Any]:
    """Return the lower triangular factor of a matrix, as far as it is positive-definite, and the
    order of the first part that is not; 0 where the whole is.
    """
    factor = cupy.tril(cupy.ascontiguousarray(a))
    info = cupy.empty((), np.int32)
    _cholesky(len(a), factor, info, size=1)
    return factor, info


_PADE_13: Final = [
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
]  # fmt: skip
_LARGEST_NORM: Final = 5.371920351148152


def _expm(a: Array) -> Any:
    """Return the exponentials of matrices in double precision, as SciPy's function does; CuPy's is
    of one matrix. By the [13/13] Padé approximant, with scaling and squaring: Higham, SIAM J.
    Matrix Anal. Appl. 26 (4), 2005, algorithm 2.3.
    """
    norms = cupy.abs(a).sum(axis=-2).max(axis=-1)[..., None, None]
    is_large = cupy.isfinite(norms) & (norms > _LARGEST_NORM)
    squarings = cupy.where(is_large, cupy.ceil(cupy.log2(norms / _LARGEST_NORM)), 0)
    x = a / cupy.exp2(squarings)
    identity = cupy.eye(a.shape[-1], dtype=a.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    c = _PADE_13
    odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = x @ (odd + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * identity)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = even + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * identity
    made = cupy.linalg.solve(even - odd, even + odd)
    with waiting("linalg.matrix_exp"):
        most = int(squarings.max())
    for done in range(most):
        made = cupy.where(squarings > done, made @ made, made)
    return made


LIBRARIES: Final = {
    "linalg.expm": _expm,
    "linalg.get_blas_funcs": _blas,
    "linalg.get_lapack_funcs": _lapack,
}
"""By their names in SciPy, the functions that return functions."""
