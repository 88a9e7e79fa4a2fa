"""Matrix products of integers by BLAS."""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.families import MatrixProducts
from dovetail_aten.typing import Array

from ..functions.products import matmul

_MANY: Final = 1 << 14
"""Products of integers from which BLAS is faster, copies included."""


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
