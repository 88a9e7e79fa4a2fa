"""NumPy's functions along axes: sums, extrema, moments, scans, differences, parts of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_kernel import TensorBase

from ..._generated import functions as aten
from ...calling.operands import promoted
from ...typing import Tensor
from .operands import as_tuple, common


def _dims(a: Tensor, axis: Any) -> Any:
    return tuple(range(a.ndim)) if axis is None else axis


def _reduction(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function over the dimensions `axis`, all by default."""

    def reduction(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return function(a, _dims(a, axis), keepdims)

    return reduction


def _prod(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Any:
    for each in sorted([each % a.ndim for each in as_tuple(_dims(a, axis))], reverse=True):
        a = aten.prod(a, each, keepdims)
    return a


def _moment(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a variance or deviation, divided by the number of elements by default."""

    def moment(a: Any, axis: object = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        return function(a, _dims(a, axis), correction=ddof, keepdim=keepdims)

    return moment


def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    dims = _dims(a, axis)
    if weights is None:
        return aten.mean(a, dims, keepdims)
    a, weights = common(a, weights)
    if weights.shape != a.shape:
        if weights.ndim != 1 or not isinstance(axis, int):
            raise TypeError(
                "Axis must be specified when shapes of a and weights differ: "
                f"{tuple(a.shape)} and {tuple(weights.shape)}. Give weights of one dimension, and "
                "its axis."
            )
        weights = weights.reshape([-1 if each == axis % a.ndim else 1 for each in range(a.ndim)])
    total = aten.sum(weights.expand(a.shape), dims, keepdims)
    return aten.sum(a * weights, dims, keepdims) / total


def _quantile(factor: float) -> Callable[..., Any]:
    """Return a function of quantiles; `factor` is 0.01 for percentiles."""

    def quantile(
        a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
    ) -> Any:
        if isinstance(q, int | float):
            q = a.new_tensor(q)
        a, q = common(a, q)
        a, axis = _last(a, axis, keepdims)
        return aten.quantile(a, q * factor, axis, keepdims, interpolation=method)

    return quantile


def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    a, axis = _last(a, axis, keepdims)
    return aten.quantile(a, 0.5, axis, keepdims)


def _last(a: Tensor, axis: Any, keepdims: bool) -> tuple[Any, int]:
    """Return `a` with one dimension for the whole of it, or the one dimension that is given."""
    if axis is None and not keepdims:
        return a.reshape(-1), 0
    if axis is None or isinstance(axis, tuple):
        raise TypeError(f"Quantiles along {axis} of a tensor that requires grad. Give one axis.")
    return a, axis


def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    dims = _dims(a, axis)
    return aten.amax(a, dims, keepdims) - aten.amin(a, dims, keepdims)


def _along(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function of all elements, in order, where NumPy's default axis is None."""

    def along(a: Tensor, axis: Any = None) -> Any:
        return function(a.reshape(-1), 0) if axis is None else function(a, axis)

    return along


def _sort(a: Tensor, axis: int | None = -1) -> Any:
    return aten.sort(a.reshape(-1), 0)[0] if axis is None else aten.sort(a, axis)[0]


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    dims = as_tuple(_dims(f, axis))
    if not varargs:
        made = aten.gradient(f, dim=dims, edge_order=edge_order)
    elif all([isinstance(each, int | float) for each in varargs]):
        spacing = varargs if len(varargs) == len(dims) else varargs * len(dims)
        made = aten.gradient(f, spacing=spacing, dim=dims, edge_order=edge_order)
    else:
        made = aten.gradient(f, spacing=varargs, dim=dims, edge_order=edge_order)
    return made[0] if len(dims) == 1 else tuple(made)


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    if x is None:
        return aten.trapezoid(y, dx=dx, dim=axis)
    return aten.trapezoid(*common(y, x), dim=axis)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if isinstance(low, TensorBase) or isinstance(high, TensorBase):
        for bound, function in ((low, aten.maximum), (high, aten.minimum)):
            if bound is not None:
                other = bound if isinstance(bound, TensorBase) else aten.full_like(a, bound)
                a = function(*promoted(a, other))
        return a
    return aten.clamp(a, low, high)


def _angle(z: Any, deg: bool = False) -> Any:
    made = aten.angle(z)
    return aten.rad2deg(made) if deg else made


def _real_if_close(a: Any, tol: float = 100) -> Any:
    if not a.is_complex():
        return a
    if tol > 1:
        tol *= a.abs().new_tensor(0.0).nextafter(a.abs().new_tensor(1.0)).item()
    return a.real if bool((a.detach().imag.abs() < tol).all()) else a


def _nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    return aten.nan_to_num(x, nan, posinf, neginf)


def _argument(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function of the place of an element, among all by default."""

    def argument(a: object, axis: int | None = None, *, keepdims: bool = False) -> Any:
        return function(a, axis, keepdims)

    return argument


def _argsort(a: Tensor, axis: int | None = -1, kind: Any = None, *, stable: bool = True) -> Any:
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    return aten.argsort(a, stable=True, dim=axis)


def _isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    a, b = common(a, b)
    return aten.isclose(a, b, rtol, atol, equal_nan)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "all": _reduction(aten.all),
    "amax": _reduction(aten.amax),
    "amin": _reduction(aten.amin),
    "any": _reduction(aten.any),
    "argmax": _argument(aten.argmax),
    "argmin": _argument(aten.argmin),
    "argsort": _argsort,
    "angle": _angle,
    "around": lambda a, decimals=0: aten.round(a, decimals=decimals),
    "average": _average,
    "clip": _clip,
    "count_nonzero": lambda a, axis=None: aten.count_nonzero(a, axis),
    "cumprod": _along(aten.cumprod),
    "cumsum": _along(aten.cumsum),
    "diff": lambda a, n=1, axis=-1: aten.diff(a, n, axis),
    "fix": aten.trunc,
    "gradient": _gradient,
    "i0": aten.special_i0,
    "imag": aten.imag,
    "iscomplexobj": lambda x: x.is_complex(),
    "isclose": _isclose,
    "isrealobj": lambda x: not x.is_complex(),
    "linalg.trace": lambda x, /, *, offset=0: aten.sum(aten.diagonal(x, offset, -2, -1), -1),
    "max": _reduction(aten.amax),
    "mean": _reduction(aten.mean),
    "median": _median,
    "min": _reduction(aten.amin),
    "nan_to_num": _nan_to_num,
    "nanmean": _reduction(aten.nanmean),
    "nansum": _reduction(aten.nansum),
    # An order among those that NumPy leaves open.
    "partition": lambda a, kth, axis=-1: _sort(a, axis),
    "percentile": _quantile(0.01),
    "prod": _prod,
    "ptp": _ptp,
    "quantile": _quantile(1.0),
    "real": aten.real,
    "real_if_close": _real_if_close,
    "round": lambda a, decimals=0: aten.round(a, decimals=decimals),
    "sinc": aten.sinc,
    "sort": _sort,
    "std": _moment(aten.std),
    "sum": _reduction(aten.sum),
    "trace": lambda a, offset=0, axis1=0, axis2=1: aten.sum(
        aten.diagonal(a, offset, axis1, axis2), -1
    ),
    "trapezoid": _trapezoid,
    "var": _moment(aten.var),
}
"""Functions by their names in NumPy, with its parameters."""
