"""The functions of the Array API by module, with the dtypes and the calls of each."""

from __future__ import annotations

from typing import Final

import array_api_calls as c
import array_api_shapes as s
from array_api_calls import ALL, BOOL, COMPLEX, FLOATS, INEXACT, INTEGERS, NUMERIC, REAL, Calls

Entry = tuple[tuple[str, ...], Calls]


def each(names: str, dtypes: tuple[str, ...], calls: Calls) -> dict[str, Entry]:
    return {name: (dtypes, calls) for name in names.split()}


MODULES: Final[dict[str, dict[str, Entry]]] = {
    "creation": {
        **each("ones zeros", ALL, s.sizes),
        **each("ones_like zeros_like", ALL, s.like),
        **each("full", ALL, s.full),
        **each("full_like", ALL, s.full_like),
        **each("arange", INTEGERS + FLOATS, s.ranges),
        **each("linspace", FLOATS, s.spaced),
        **each("eye", NUMERIC, s.eyes),
        **each("tril triu", ALL, s.triangles),
        **each("meshgrid", ALL, s.grids),
    },
    "data type": {
        **each("astype", ALL, s.converted),
        **each("broadcast_arrays", ALL, s.broadcast),
        **each("broadcast_to", ALL, s.broadcast_to),
    },
    "elementwise": {
        **each("abs negative positive sign square", NUMERIC, c.one),
        **each("isfinite isinf isnan conj real imag", NUMERIC, c.one),
        **each("acos acosh asin asinh atan atanh cos cosh exp", INEXACT, c.one),
        **each("expm1 log log1p log2 log10 reciprocal sin sinh", INEXACT, c.one),
        **each("sqrt tan tanh", INEXACT, c.one),
        **each("signbit", FLOATS, c.one),
        **each("ceil floor trunc", REAL, c.one),
        **each("round", NUMERIC, c.one),
        **each("bitwise_invert", BOOL + INTEGERS, c.one),
        **each("logical_not", BOOL, c.one),
        **each("clip", REAL, c.bounded),
        **each("add subtract multiply", NUMERIC, c.of(NUMERIC)),
        **each("equal not_equal", ALL, c.of(ALL)),
        **each("greater greater_equal less less_equal maximum minimum", REAL, c.of(REAL)),
        **each("atan2 copysign hypot logaddexp nextafter", FLOATS, c.of(FLOATS)),
        **each("divide", INEXACT, c.of(INEXACT)),
        **each("floor_divide remainder", REAL, c.divided),
        **each("pow", NUMERIC, c.powers),
        **each("bitwise_and bitwise_or bitwise_xor", BOOL + INTEGERS, c.of(BOOL + INTEGERS)),
        **each("bitwise_left_shift bitwise_right_shift", INTEGERS, c.shifted),
        **each("logical_and logical_or logical_xor", BOOL, c.of(BOOL)),
    },
    "indexing": {**each("take", ALL, s.taken), **each("take_along_axis", ALL, s.taken_along)},
    "linear algebra": {
        **each("matmul", NUMERIC, s.matrices),
        **each("matrix_transpose", ALL, s.many_matrices),
        **each("tensordot", NUMERIC, s.contracted),
        **each("vecdot", NUMERIC, s.vectors),
    },
    "manipulation": {
        **each("concat", ALL, s.joined),
        **each("stack", ALL, s.stacked),
        **each("expand_dims", ALL, s.expanded),
        **each("flip", ALL, s.flipped),
        **each("moveaxis", ALL, s.moved),
        **each("permute_dims", ALL, s.permuted),
        **each("repeat", ALL, s.repeated),
        **each("reshape", ALL, s.reshaped),
        **each("roll", ALL, s.rolled),
        **each("squeeze", ALL, s.squeezed),
        **each("tile", ALL, s.tiled),
        **each("unstack", ALL, s.unstacked),
    },
    "searching": {
        **each("argmax argmin", REAL, c.single),
        **each("count_nonzero", ALL, c.reduced),
        **each("nonzero", ALL, s.nonzero),
        **each("searchsorted", REAL, s.searched),
        **each("where", ALL, s.chosen),
    },
    "set": {
        **each("unique_all unique_counts unique_inverse unique_values", REAL + BOOL, c.one),
        **each("isin", INTEGERS, s.found_in),
    },
    "sorting": {**each("argsort sort", REAL, s.ordered)},
    "statistical": {
        **each("max min", REAL, c.filled),
        **each("mean", INEXACT, c.filled),
        **each("sum prod", NUMERIC, c.summed),
        **each("std var", FLOATS, c.spread),
        **each("cumulative_sum cumulative_prod", NUMERIC, c.cumulated),
    },
    "utility": {**each("all any", ALL, c.reduced), **each("diff", NUMERIC, c.differences)},
    "linalg": {
        **each("linalg.cholesky", INEXACT, s.hermitian),
        **each("linalg.cross", NUMERIC, s.crossed),
        **each("linalg.det linalg.inv linalg.slogdet", INEXACT, s.square),
        **each("linalg.diagonal", ALL, s.many_matrices),
        **each("linalg.trace", NUMERIC, s.many_matrices),
        **each("linalg.eigvalsh", INEXACT, s.hermitian),
        **each("linalg.matrix_norm", INEXACT, s.matrix_normed),
        **each("linalg.matrix_power", INEXACT, s.powers_of_matrices),
        **each("linalg.matrix_rank", FLOATS, s.square),
        **each("linalg.outer", NUMERIC, s.outer),
        **each("linalg.pinv", INEXACT, s.square),
        **each("linalg.solve", INEXACT, s.systems),
        **each("linalg.svdvals", INEXACT, s.many_matrices),
        **each("linalg.vector_norm", INEXACT, s.normed),
    },
    "fft": {
        **each("fft.fft fft.ifft fft.hfft fft.irfft", INEXACT, s.transformed),
        **each("fft.rfft fft.ihfft", FLOATS, s.transformed),
        **each("fft.fftn fft.ifftn", INEXACT, s.transformed_all),
        **each("fft.rfftn", FLOATS, s.transformed_all),
        **each("fft.irfftn", COMPLEX, s.transformed_all),
        **each("fft.fftfreq fft.rfftfreq", FLOATS, s.frequencies),
        **each("fft.fftshift fft.ifftshift", INEXACT, s.shifted_spectra),
    },
}
