"""Orders in memory of results of Fourier transforms, sorting and linear algebra: rules of the
arguments' strides, or of the operator alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ..typing import Array
from .dims import wrap_dims
from .geometry.broadcasting import Geometry, elementwise_order

Order = Sequence[int]
"""Dimensions from the outermost in memory to the innermost."""
GeometryOf = Callable[[Any], Geometry]
OrderRule = Callable[..., Sequence[Order]]
"""Returns the order of each result by a function that returns the `Geometry` of an array, by the
results, whose numbers of dimensions count, and by the arguments of the operator.
"""


def _by_columns(*places: int) -> OrderRule:
    """Return the rule of matrices as LAPACK lays them out: column by column for the results at
    `places`, others in C order.
    """

    def orders(
        _geometry: GeometryOf, made: Sequence[Array], *_: object, **__: object
    ) -> Sequence[Order]:
        return [
            _columns(each.ndim) if place in places and each.ndim > 1 else range(each.ndim)
            for place, each in enumerate(made)
        ]

    return orders


def _solutions(
    geometry: GeometryOf, made: Sequence[Array], *args: object, left: bool = True, **__: object
) -> Sequence[Order]:
    """Return the order of solutions: by columns, or by rows where the matrix is on the right."""
    return (_by_columns(0) if left else _in_c_order)(geometry, made)


def _columns(ndim: int) -> Order:
    return (*range(ndim - 2), ndim - 1, ndim - 2)


@lru_cache(1024)
def fourier_order(strides: tuple[int, ...], axes: tuple[int, ...], is_half: bool) -> Order:
    """Return the order in memory of a Fourier transform along `axes`: the other dimensions by their
    strides, then the transformed ones, of which the last stays innermost if it is halved.
    """
    count = len(strides) - len(axes)
    # Transformed dimensions among the first ones change places with the last of the others.
    spare = iter([dim for dim in reversed(range(count, len(strides))) if dim not in axes])
    others = [next(spare) if dim in axes else dim for dim in range(count)]
    free, kept = (axes[:-1], axes[-1:]) if is_half else (axes, ())

    def by_stride(dim: int) -> int:
        return -strides[dim]

    return (*sorted(others, key=by_stride), *sorted(free, key=by_stride), *kept)


def _fourier(is_half: bool) -> OrderRule:
    def orders(
        geometry: GeometryOf, made: Sequence[Array], x: Array, dim: Sequence[int], *_: object
    ) -> Sequence[Order]:
        axes = tuple(wrap_dims(tuple(dim), x.ndim)) if len(dim) else ()
        if not axes:
            return _of_operand(geometry, made, x)
        return [fourier_order(tuple(geometry(x)[1]), axes, is_half)]

    return orders


def _of_operand(
    geometry: GeometryOf, made: Sequence[Array], x: Array, *_: object, **__: object
) -> Sequence[Order]:
    """Return the order of the first argument, for all results."""
    return [elementwise_order([geometry(x)])[1]] * len(made)


def _attended(
    geometry: GeometryOf,
    made: Sequence[Array],
    query: Array,
    key: Array,
    value: Array,
    *_: object,
    attn_mask: Array | None = None,
    **__: object,
) -> Sequence[Order]:
    """Return the orders of attention: means lie as the queries of several heads do, since heads are
    often split off a dimension of features, which a view of the means joins again.
    """
    order = elementwise_order([geometry(query)])[1]
    is_dense = all([geometry(each)[1][-1:] == (1,) for each in (query, key, value)])
    is_plain = made[0].ndim == 4 and is_dense and query.shape == made[0].shape
    is_masked_alike = attn_mask is None or attn_mask.ndim in (2, 4)
    orders = _in_c_order(geometry, made)
    return (order, *orders[1:]) if is_plain and is_masked_alike and key.shape[-2] else orders


def _in_c_order(
    _geometry: GeometryOf, made: Sequence[Array], *_: object, **__: object
) -> Sequence[Order]:
    return [range(each.ndim) for each in made]


RESULT_ORDERS: Final[Mapping[str, OrderRule]] = {
    **dict.fromkeys(("sort", "sort.stable", "flip"), _of_operand),
    **dict.fromkeys(("renorm", "mvlgamma", "lu_unpack", "log_sigmoid_forward"), _in_c_order),
    **dict.fromkeys(
        ("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor"), _in_c_order
    ),
    "_fft_c2c": _fourier(False),
    "_fft_r2c": _fourier(True),
    "_fft_c2r": _fourier(True),
    **dict.fromkeys(("linalg_solve_ex", "linalg_lu_solve"), _solutions),
    "_scaled_dot_product_flash_attention_for_cpu": _attended,
    "linalg_qr": _by_columns(0, 1),
    "_linalg_svd": _by_columns(0, 2),
    **dict.fromkeys(("_linalg_eigh", "linalg_eig"), _by_columns(1)),
    **dict.fromkeys(
        (
            *("linalg_cholesky_ex", "cholesky_solve", "cholesky_inverse", "linalg_lu_factor_ex"),
            *("linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_householder_product", "ormqr"),
            *("geqrf", "linalg_inv_ex", "linalg_solve_triangular"),
        ),
        _by_columns(0),
    ),
}
"""The rule of each operator, observed of PyTorch 2.13."""
