"""Euclidean norms by BLAS, and logarithms of sums of exponentials block by block."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy

from dovetail_aten.families.reductions.kernels.norms import Norms
from dovetail_aten.families.reductions.kernels.reductions import Dims
from dovetail_aten.kernel_support import wrap_dims

from .constants import ones_of
from .products import dot
from .sums_along import sum_along
from .threads import ROWS_TOGETHER, run_pieces, shared_step

_add: Any = numpy.add.reduce
_highest: Any = numpy.maximum.reduce
_FLOATS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MANY: Final = 1 << 14
"""Elements from which this pays."""
_ROW: Final = 1024
"""Length of the rows that the squares of everything are summed in."""
_LONGEST: Final = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""
_BLOCK: Final = 1 << 16
"""Elements at a time."""


def _kept(x: Any, dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...] | None:
    """Return the shape of a reduction over the last dimensions of a large array in C order; None
    for anything else.
    """
    kept = x.ndim - len(dims)
    if (
        x.size < _MANY
        or x.dtype not in _FLOATS
        or not x.flags.c_contiguous
        or sorted(dims) != list(range(kept, x.ndim))
    ):
        return None
    return (*x.shape[:kept], *(1,) * len(dims)) if keepdim else x.shape[:kept]


class FastNorms(Norms):
    """Norms of large arrays."""

    def _norm_of(self, x: Any, ord: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
        """Return the vector norm of an array of full precision."""
        whole = len(dims) == x.ndim and not keepdim
        if whole and ord == 2 and 1 < x.size <= _LONGEST and x.dtype in _FLOATS:
            flat = x.ravel()
            return numpy.sqrt(flat.dot(flat))
        if (
            ord == 2
            and x.ndim > 1
            and dims == (x.ndim - 1,)
            and 0 < x.size < _MANY
            and 1 < x.shape[-1] <= _LONGEST
            and x.dtype in _FLOATS
        ):
            squares = numpy.vecdot(x, x)
            result = numpy.sqrt(squares, squares)
            return result[..., None] if keepdim else result
        shape = _kept(x, dims, keepdim) if ord == 2 else None
        count = x.size if shape is None else prod(shape)
        if shape is None or count == x.size:
            return Norms._norm_of(self, x, ord, dims, keepdim)
        length = x.size // count
        whole = length - length % _ROW
        if length <= _LONGEST:
            rows = x.reshape(count, length)
            squares = numpy.vecdot(rows, rows)
        else:
            rows = x.reshape(count, length)
            parts = rows[:, :whole].reshape(count, whole // _ROW, _ROW)
            squares = numpy.add.reduce(numpy.vecdot(parts, parts), 1)
            if whole < length:
                rest = rows[:, whole:]
                squares += numpy.vecdot(rest, rest)
        return numpy.sqrt(squares).reshape(shape)

    def _logsumexp_along(self, x: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
        """Return `logsumexp` over other dimensions than the last: of many, with `sum_along`."""
        if x.dtype not in _FLOATS or x.size <= _LONGEST or not x.flags.c_contiguous:
            return Norms.logsumexp(self, x, dims, keepdim)
        top = _highest(x, dims, None, None, True)
        top[~numpy.isfinite(top)] = 0
        powers = numpy.subtract(x, top)
        total = sum_along(numpy.exp(powers, out=powers), dims, True)
        if total is None:
            total = _add(powers, dims, None, None, True)
        numpy.add(numpy.log(total, out=total), top, out=total)
        return self.ordered(total if keepdim else total.squeeze(dims))

    def logsumexp(self, x: Any, dim: Dims, keepdim: bool = False) -> Any:
        """Return ``log(sum(exp(x)))`` over `dim` without overflow."""
        dims = wrap_dims(dim, x.ndim)
        shape = _kept(x, dims, keepdim)
        if shape is None:
            return self._logsumexp_along(x, dims, keepdim)
        rows = x.reshape(prod(shape), -1)
        length = rows.shape[1]
        made = numpy.empty(len(rows), x.dtype)
        step = shared_step(max(1, _BLOCK // length), len(rows), x.size, ROWS_TOGETHER)

        def compute(first: int, last: int) -> None:
            for start in range(first * step, min(last * step, len(rows)), step):
                some = rows[start : start + step]
                top = numpy.maximum.reduce(some, 1)
                top[~numpy.isfinite(top)] = 0
                powers = numpy.subtract(some, top[:, None])
                numpy.exp(powers, out=powers)
                total = (
                    dot(powers, ones_of(length, x.dtype))
                    if length <= _LONGEST
                    else numpy.add.reduce(powers, 1)
                )
                numpy.add(numpy.log(total, out=total), top, out=made[start : start + step])

        run_pieces(compute, -(-len(rows) // step), x.size)
        return made.reshape(shape)
