"""NumPy's functions that are written in Python, as what stands behind them: a reduction of a ufunc,
a method of arrays, a view. On small arrays NumPy's cost more than what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy
import numpy as np

_ALL: Final = slice(None)
_BACKWARDS: Final = slice(None, None, -1)
_BOOL: Final = numpy.dtype(bool)
_concatenate: Any = numpy.concatenate
_empty: Any = numpy.empty
_zeros: Any = numpy.zeros


_core: Final = getattr(getattr(numpy, "_core", None), "umath", None)
clip: Final[Any] = getattr(_core, "clip", numpy.clip)
"""``clip(x, least, greatest, out)``: the ufunc behind ``ndarray.clip``, which is written in Python
and costs as much again.
"""


def _reduction(function: Any) -> Callable[..., Any]:
    """Return the reduction by a ufunc, with the arguments of NumPy's functions."""
    reduce = function.reduce

    def reduction(
        a: np.ndarray,
        axis: Sequence[int] | None = None,
        dtype: object = None,
        out: np.ndarray | None = None,
        keepdims: bool = False,
    ) -> Any:
        return reduce(a, axis, dtype, out, keepdims)

    return reduction


def _extremum(function: Any) -> Callable[..., Any]:
    reduce = function.reduce

    def extremum(
        a: np.ndarray, axis: object = None, out: np.ndarray | None = None, keepdims: bool = False
    ) -> Any:
        return reduce(a, axis, None, out, keepdims)

    return extremum


def _test(function: Any) -> Callable[..., Any]:
    reduce = function.reduce

    def test(
        a: np.ndarray, axis: object = None, out: np.ndarray | None = None, keepdims: bool = False
    ) -> Any:
        return reduce(a, axis, _BOOL, out, keepdims)

    return test


def argsort(a: np.ndarray, axis: int = -1, stable: bool | None = None) -> Any:
    """Return the order of elements along `axis`."""
    return a.argsort(axis, stable=stable)


def take(a: np.ndarray, indices: np.ndarray, axis: int | None = None) -> Any:
    """Return the elements at `indices`."""
    return a.take(indices, axis)


def cumsum(a: np.ndarray, axis: int | None = None, dtype: np.dtype | None = None) -> Any:
    """Return the sums of all elements up to each."""
    return a.cumsum(axis, dtype)


def nonzero(a: np.ndarray) -> Any:
    """Return where elements are not zero."""
    return a.nonzero()


def repeat(a: np.ndarray, repeats: Any, axis: int | None = None) -> Any:
    """Return elements several times."""
    return a.repeat(repeats, axis)


def reshape(a: np.ndarray, shape: Any) -> Any:
    """Return the elements in another shape."""
    return a.reshape(shape)


def flip(a: np.ndarray, axis: int) -> Any:
    """Return a view with the order of elements along `axis` reversed."""
    return a[(*(_ALL,) * (axis % a.ndim), _BACKWARDS)]


def expand_dims(a: np.ndarray, axis: int) -> Any:
    """Return a view with another dimension of one element."""
    return a[(*(_ALL,) * (axis % (a.ndim + 1)), None)]


def ones(shape: object, dtype: np.dtype | None = None) -> Any:
    """Return an array full of 1."""
    made = _empty(shape, dtype)
    made.fill(1)
    return made


def eye(N: int, M: int | None = None, dtype: object = None) -> Any:
    """Return a matrix of `N` rows and `M` columns with 1 on its diagonal, else 0."""
    columns = N if M is None else M
    made = _zeros((N, columns), dtype)
    made.reshape(-1)[: columns * columns : columns + 1] = 1
    return made


def stack(arrays: Sequence[np.ndarray], axis: int = 0) -> Any:
    """Return arrays of one shape side by side along a new dimension."""
    place = axis % (arrays[0].ndim + 1)
    key = (*(_ALL,) * place, None)
    return _concatenate([each[key] for each in arrays], place)


QUICK_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "sum": _reduction(numpy.add),
    "prod": _reduction(numpy.multiply),
    "amax": _extremum(numpy.maximum),
    "amin": _extremum(numpy.minimum),
    "any": _test(numpy.logical_or),
    "all": _test(numpy.logical_and),
    "argsort": argsort,
    "take": take,
    "cumsum": cumsum,
    "nonzero": nonzero,
    "repeat": repeat,
    "reshape": reshape,
    "flip": flip,
    "expand_dims": expand_dims,
    "stack": stack,
    "ones": ones,
    "eye": eye,
}
"""By their names: what array kernels call for the arrays of this backend."""
