"""`dask.array` with NumPy's names and orders of arguments, as the array kernels use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import elemwise

from dovetail_aten.typing import Array

from .chunks import Chunked, automatic, reshape
from .families.indexing import take, take_along_axis
from .families.products import matmul

Function = Callable[..., Any]


def _reduction(function: Function) -> Function:
    """Return a reduction of Dask that, like NumPy's, takes no dtype of None."""

    @wraps(function)
    def reduce(
        array: Array, axis: object = None, dtype: object = None, keepdims: bool = False
    ) -> Any:
        named = {} if dtype is None else {"dtype": dtype}
        if not isinstance(array, da.Array):
            array = da.asarray(array)
        return function(array, axis=axis, keepdims=keepdims, **named)

    return reduce


def _extremum(function: Function) -> Function:
    """Return ``max`` or ``min`` with NumPy's arguments. Dask refuses arrays without elements, also
    where no element of the result needs one.
    """
    reduce = _reduction(function)

    @wraps(function)
    def find(
        array: Array, axis: int | None = None, dtype: object = None, keepdims: bool = False
    ) -> Any:
        if array.size or axis is None:
            return reduce(array, axis, dtype, keepdims)
        return da.from_array(np.zeros(array.shape, array.dtype).max(axis, keepdims=keepdims))

    return find


def _place(function: Function) -> Function:
    """Return ``argmax`` or ``argmin`` along an axis: the first place where several are equal."""

    @wraps(function)
    def find(array: Array, axis: int, keepdims: bool = False) -> Any:
        return function(array, axis=axis, keepdims=keepdims).astype(np.int64)

    return find


def _scan(function: Function) -> Function:
    """Return ``cumsum`` or ``cumprod`` with NumPy's arguments; it goes from chunk to chunk."""

    @wraps(function)
    def scan(array: Array, axis: int = 0, dtype: object = None) -> Any:
        return function(array, axis=axis, dtype=array.dtype if dtype is None else dtype)

    return scan


def _array(value: Any, dtype: Any = None, copy: bool = True, order: str | None = None) -> Any:
    """Return a new array: elements that cannot be written need no copy, but an array of its own."""
    if not isinstance(value, da.Array):
        return da.from_array(np.asarray(value, dtype))
    if dtype is not None and dtype != value.dtype:
        return value.astype(dtype)
    return value.copy() if copy else value


def _asarray(value: object, dtype: object = None) -> Any:
    return _array(value, dtype, copy=False)


def _filled(function: Function) -> Function:
    @wraps(function)
    def make(shape: Sequence[int] | int, dtype: object = None, order: str | None = None) -> Any:
        return function(shape, dtype=dtype, chunks=automatic(_sizes(shape)))

    return make


def _full(shape: Sequence[int] | int, value: Any, dtype: object = None) -> Any:
    if isinstance(value, da.Array):
        return da.broadcast_to(value.astype(dtype), shape)
    return da.full(shape, value, dtype=dtype, chunks=automatic(_sizes(shape)))


def _sizes(shape: Sequence[int] | int) -> Sequence[int]:
    return (shape,) if isinstance(shape, int) else shape


def _like(function: Function) -> Function:
    @wraps(function)
    def make(array: Array, *value: Any, dtype: object = None, order: str | None = None) -> Any:
        return function(array, *value, dtype=dtype)

    return make


def _broadcast_arrays(*arrays: Any) -> Any:
    return tuple(da.broadcast_arrays(*arrays))


def _eye(n: int, m: int | None = None, dtype: object = None) -> Any:
    return da.eye(n, M=m, dtype=dtype, chunks="auto") if n else da.zeros((n, m or n), dtype=dtype)


def _argsort(array: Chunked, axis: int = -1, stable: bool = True) -> Any:
    """Return the places in order along an axis, which becomes one chunk."""
    whole = array.rechunk({axis % array.ndim: -1})
    return whole.map_blocks(np.argsort, axis=axis, stable=stable, dtype=np.int64)


class Quiet:
    """An elementwise function of NumPy that warns of nothing in the threads that compute: what is
    infinite, or no number, is a result.
    """

    __slots__ = ("__name__", "_function")

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._function = getattr(np, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns."""
        with np.errstate(all="ignore"):
            return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Quiet, (self.__name__,)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "dovetail", "quiet", self.__name__


class Namespace:
    """The names that array kernels use. What is not here is that of `dask.array`, or missing."""

    __name__ = "dask.array"

    def __init__(self) -> None:
        for name in ("sum", "prod", "any", "all"):
            setattr(self, name, _reduction(getattr(da, name)))
        self.amax, self.amin = _extremum(da.max), _extremum(da.min)
        self.max, self.min = self.amax, self.amin
        self.argmax, self.argmin = _place(da.argmax), _place(da.argmin)
        self.cumsum, self.cumprod = _scan(da.cumsum), _scan(da.cumprod)
        self.zeros, self.ones, self.empty = map(_filled, (da.zeros, da.ones, da.zeros))
        self.zeros_like, self.ones_like = map(_like, (da.zeros_like, da.ones_like))
        self.full_like = _like(da.full_like)
        self.array, self.asarray, self.full = _array, _asarray, _full
        self.take, self.take_along_axis, self.reshape = take, take_along_axis, reshape
        self.broadcast_arrays, self.eye, self.matmul = _broadcast_arrays, _eye, matmul
        self.bool_, self.dtype = np.bool_, np.dtype
        self.conjugate, self.argsort = da.conj, _argsort
        for kind in (np.integer, np.inexact):
            for each in _scalar_types(kind):
                setattr(self, each.__name__, each)

    def __getattr__(self, name: str) -> Any:
        found = getattr(da, name, None)
        # Of NumPy's elementwise functions Dask has not all: gcd and lcm it has not.
        if isinstance(found, da.ufunc.ufunc) or (
            found is None and isinstance(getattr(np, name, None), np.ufunc)
        ):
            return partial(elemwise, Quiet(name))
        return getattr(da, name)


def _scalar_types(kind: type) -> list[type]:
    """Return the classes of NumPy's scalars of a kind that have no classes beneath them."""
    found: list[type] = kind.__subclasses__()
    return [leaf for each in found for leaf in _scalar_types(each)] if found else [kind]
