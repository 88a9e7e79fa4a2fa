"""Products of matrices of half precision, which cuBLAS multiplies as they are and adds up in
float32. CuPy does so for two matrices; it has batches of them copied to float32 and back.
"""

from __future__ import annotations

import math
from typing import Any, Final

import cupy
import numpy as np
from cupy_backends.cuda.api import runtime
from cupy_backends.cuda.libs import cublas

from dovetail_aten.families import MatrixProducts, check_bmm, check_mm
from dovetail_aten.kernel_support import check_expandable, rounds_once
from dovetail_aten.typing import Array

_KINDS: Final = {"float16": runtime.CUDA_R_16F, "bfloat16": runtime.CUDA_R_16BF}


class HalfProducts(MatrixProducts):
    """Products of vectors, matrices and batches of matrices."""

    def _product(self, a: Array, b: Array) -> Any:
        """Return ``a @ b``, of half precision accumulated in float32."""
        if a.dtype not in self.precision.halves or not a.size or not b.size:
            return MatrixProducts._product(self, a, b)
        if a.ndim == b.ndim == 1:
            return MatrixProducts._product(self, a, b)
        if b.ndim <= 2:
            lines = a.reshape(-1, a.shape[-1])
            return cupy.matmul(lines, b).reshape(*a.shape[:-1], *b.shape[1:])
        if a.ndim == 1:
            return _batched(a[None], b).squeeze(-2)
        return _batched(a, b)

    @rounds_once
    def addmm(self, x: Any, mat1: Any, mat2: Array, *, beta: object = 1, alpha: object = 1) -> Any:
        """Return ``beta * x + alpha * (mat1 @ mat2)``."""
        check_mm(mat1, mat2, self.dtypes)
        return self._added(MatrixProducts.addmm, x, mat1, mat2, beta, alpha)

    @rounds_once
    def baddbmm(
        self, x: Array, batch1: Array, batch2: Array, *, beta: object = 1, alpha: object = 1
    ) -> Any:
        """Return ``beta * x + alpha * (batch1 @ batch2)`` for batches of matrices."""
        check_bmm(batch1, batch2, self.dtypes)
        return self._added(MatrixProducts.baddbmm, x, batch1, batch2, beta, alpha)

    def _added(self, general: Any, x: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        """Return ``beta * x + alpha * (a @ b)``, of half precision accumulated in float32."""
        own, wide = x.dtype, self.precision.wide
        if own not in self.precision.halves or own != a.dtype:
            return general(self, x, a, b, beta=beta, alpha=alpha)
        if not a.size or not b.size:
            made = general(self, wide(x), wide(a), wide(b), beta=beta, alpha=alpha)
            return self.precision.converted(made, own)
        check_expandable(x, (*a.shape[:-1], b.shape[-1]))
        return _batched(a, b, float(alpha), float(beta), x)


def _batched(a: Any, b: Any, alpha: float = 1, beta: float = 0, x: Any = None) -> Any:
    """Return ``beta * x + alpha * (a @ b)`` for matrices or batches of them."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    count = math.prod(lead)
    first, second = (
        _laid_out(cupy.broadcast_to(each, lead + each.shape[-2:]).reshape(count, *each.shape[-2:]))
        for each in (a, b)
    )
    made = cupy.empty((count, m, n), a.dtype)
    if beta:
        made.reshape(*lead, m, n)[...] = x
    factors = np.array([alpha, beta], np.float32)
    kind = _KINDS[a.dtype.name]
    # cuBLAS counts along columns: to it, matrices are transposed, and so is their product.
    cublas.gemmStridedBatchedEx(
        cupy.cuda.Device().cublas_handle, second.turn, first.turn, n, m, k, factors.ctypes.data,
        second.array.data.ptr, kind, second.line, second.step,
        first.array.data.ptr, kind, first.line, first.step, factors[1:].ctypes.data,
        made.data.ptr, kind, n, m * n, count, cublas.CUBLAS_COMPUTE_32F,
        cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip
    return made.reshape(*lead, m, n)


class _LaidOut:
    """A batch of matrices as cuBLAS takes it: whether their columns are lines, and how many
    elements lie from a line, or a matrix, to the next.
    """

    def __init__(self, array: Any, turn: int, line: int) -> None:
        self.array = array
        self.turn = turn
        self.line = line
        self.step = array.strides[0] // array.itemsize


def _laid_out(array: Any) -> _LaidOut:
    size = array.itemsize
    _, rows, columns = array.shape
    _, to_row, to_column = (step // size for step in array.strides)
    if to_column == 1 and to_row >= columns:
        return _LaidOut(array, cublas.CUBLAS_OP_N, to_row)
    if to_row == 1 and to_column >= rows:
        return _LaidOut(array, cublas.CUBLAS_OP_T, to_column)
    return _LaidOut(cupy.ascontiguousarray(array), cublas.CUBLAS_OP_N, columns)
