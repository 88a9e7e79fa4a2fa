"""Calls of the cpu's kernels on the chunks of arrays, in whatever process computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

from dovetail_aten.backend import ready_backend
from dovetail_aten.typing import Array
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey


@cache
def cpu_kernel(name: str) -> Callable[..., Any]:
    """Return the function that computes an operator of the base library on NumPy arrays.

    Parameters
    ----------
    name
        Of the operator, with its overload: ``"add.Tensor"``.
    """
    ready_backend("cpu")
    base, _, overload = name.partition(".")
    kernel = registry.find_or_throw(f"aten::{base}", overload).newest(DispatchKey.CPU)
    if kernel is None:
        raise RuntimeError(f"the cpu has no kernel for aten::{name}. Install dovetail-cpu.")
    return kernel.fn


class Hole(NamedTuple):
    """Stands for an array among the arguments of a call, counted from 0."""

    number: int


def arrays_among(value: object) -> Iterator[Any]:
    """Yield the lazy arrays in arguments, however nested."""
    if isinstance(value, da.Array):
        yield value
    elif isinstance(value, Mapping):
        yield from arrays_among(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from arrays_among(each)


def _with_holes(value: object, arrays: list[object]) -> Any:
    if isinstance(value, da.Array):
        arrays.append(value)
        return Hole(len(arrays) - 1)
    if isinstance(value, list | tuple):
        return [_with_holes(each, arrays) for each in value]
    return value


def filled(value: object, arrays: Sequence[Array]) -> Any:
    """Return arguments with the arrays in the places that holes stand for."""
    if isinstance(value, Hole):
        return arrays[value.number]
    return [filled(each, arrays) for each in value] if isinstance(value, list) else value


class CpuCall:
    """A call of an operator's cpu kernel in which arrays are yet to be filled in. It is sent to
    other processes as the name of the operator and the other arguments.

    Parameters
    ----------
    name
        Of the operator, with its overload.
    args, kwargs
        Of the kernel, with a `Hole` for every array.
    dtypes
        Of the results.
    part
        Which of several results is meant; None means all.
    """

    __slots__ = ("__name__", "_args", "_kwargs", "_part", "dtypes", "name")

    def __init__(
        self,
        name: str,
        args: object,
        kwargs: Mapping[str, object],
        dtypes: Sequence[object],
        part: int | None = None,
    ) -> None:
        self.name, self.dtypes, self._part = name, tuple(dtypes), part
        self._args, self._kwargs = args, kwargs
        self.__name__ = name.replace(".", "_").strip("_")

    def __call__(self, *chunks: Any) -> Any:
        """Return what the kernel returns for chunks of the arrays, in the dtypes of the whole."""
        kwargs = {key: filled(each, chunks) for key, each in self._kwargs.items()}
        with np.errstate(all="ignore"):
            result = cpu_kernel(self.name)(*filled(self._args, chunks), **kwargs)
        if not isinstance(result, tuple | list):
            return _as(result, self.dtypes[0])
        if self._part is not None:
            return _as(result[self._part], self.dtypes[self._part])
        return tuple(map(_as, result, self.dtypes))

    def __reduce__(self) -> tuple[Any, ...]:
        return CpuCall, (self.name, self._args, self._kwargs, self.dtypes, self._part)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "dovetail", self.name, repr(self._args), repr(self._kwargs), self._part


def cpu_call(
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dtypes: Sequence[object],
    part: int | None = None,
) -> tuple[CpuCall, list[Any]]:
    """Return a call of the cpu's kernel, and the lazy arrays whose chunks it takes, in order.

    The call holds none of them: it is part of tasks, which outlive the arrays that only other
    arrays were made of.

    Parameters
    ----------
    name, dtypes, part
        As for `CpuCall`.
    args, kwargs
        Of the kernel, with lazy arrays where chunks of them are to be filled in.
    """
    arrays: list[Any] = []
    given = _with_holes(list(args), arrays)
    named = {key: _with_holes(each, arrays) for key, each in kwargs.items()}
    return CpuCall(name, given, named, dtypes, part), arrays


def _as(result: Any, dtype: Any) -> Any:
    return None if result is None else np.asarray(result).astype(dtype, copy=False)
