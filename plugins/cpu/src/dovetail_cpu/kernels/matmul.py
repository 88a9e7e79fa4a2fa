"""Matrix products by BLAS, with few steps before it is called."""

from __future__ import annotations

from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.families import MatrixProducts
from dovetail_aten.kernel_support import Function
from dovetail_aten.typing import Array
from dovetail_kernel.fork_locks import threads_but_main

from ..functions.products import dot, matmul

_SINGLE = numpy.dtype(numpy.float32)
_BLAS = frozenset(
    map(numpy.dtype, (numpy.float32, numpy.float64, numpy.complex64, numpy.complex128))
)
_add = numpy.add
_MANY: Final = 1 << 14
"""Products of integers from which BLAS is faster, copies included."""


def _by_dot(ndim: int, other_ndim: int, generic: Function) -> Function:
    """Return the method that multiplies arrays of so many dimensions."""

    def product(self: Any, x: np.ndarray, other: np.ndarray) -> Any:
        # ndarray.dot takes a third of the time of `@` on small matrices.
        if (
            (dtype := x.dtype) is other.dtype
            and (dtype is _SINGLE or dtype in _BLAS)
            and x.ndim == ndim
            and other.ndim == other_ndim
        ):
            try:
                return dot(x, other) if threads_but_main() else x.dot(other)
            except ValueError:
                pass
        return generic(self, x, other)

    product.__doc__ = generic.__doc__
    return product


class FastMatrixProducts(MatrixProducts):
    """Products by BLAS."""

    def _product(self, a: Array, b: Any) -> Any:
        # NumPy multiplies integers one by one. Where float64 has all sums, so does BLAS.
        if a.dtype.kind in "iu" and b.ndim > 1 and a.size * b.shape[-1] >= _MANY and b.size:
            factors: list[Any] = [a, b]
            most = [max(int(each.max()), -int(each.min())) for each in factors]
            if most[0] * most[1] * a.shape[-1] <= 1 << 53:
                made = matmul(a.astype(numpy.float64), b.astype(numpy.float64))
                return made.astype(numpy.int64).astype(a.dtype, copy=False)
        return MatrixProducts._product(self, a, b)

    def bmm(self, x: np.ndarray, mat2: np.ndarray) -> Any:
        left, right, dtype = x.shape, mat2.shape, x.dtype
        if (
            len(left) == len(right) == 3
            and left[0] == right[0]
            and left[2] == right[1]
            and dtype is mat2.dtype
            and (dtype is _SINGLE or dtype in _BLAS)
        ):
            return matmul(x, mat2)
        return MatrixProducts.bmm(self, x, mat2)

    mm = _by_dot(2, 2, MatrixProducts.mm)
    mv = _by_dot(2, 1, MatrixProducts.mv)
    dot = _by_dot(1, 1, MatrixProducts.dot)

    def linear(self, input: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Any:
        dtype = input.dtype
        if dtype is weight.dtype and dtype is bias.dtype and (dtype is _SINGLE or dtype in _BLAS):
            try:
                result = dot(input, weight.T) if threads_but_main() else input.dot(weight.T)
                return _add(result, bias, out=result)
            except ValueError:
                pass
        return MatrixProducts.linear(self, input, weight, bias)

    def addmm(self, x: Any, mat1: Any, mat2: np.ndarray, *, beta: Any = 1, alpha: Any = 1) -> Any:
        dtype = mat1.dtype
        if (
            beta != 1
            or dtype is not mat2.dtype
            or dtype is not x.dtype
            or (dtype is not _SINGLE and dtype not in _BLAS)
            or mat1.ndim != 2
            or mat2.ndim != 2
        ):
            return MatrixProducts.addmm(self, x, mat1, mat2, beta=beta, alpha=alpha)
        try:
            result = dot(mat1, mat2) if threads_but_main() else mat1.dot(mat2)
        except ValueError:
            return MatrixProducts.addmm(self, x, mat1, mat2, beta=beta, alpha=alpha)
        if alpha != 1:
            numpy.multiply(result, self.numbers.of_dtype(alpha, dtype), out=result)
        try:
            return _add(result, x, out=result)
        except ValueError:
            return MatrixProducts.addmm(self, x, mat1, mat2, beta=beta, alpha=alpha)
