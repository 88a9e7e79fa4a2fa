"""Shapes and dtypes of results that are computed later: the rules of the meta device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import dask.array as da
import ml_dtypes
import numpy as np

from dovetail_aten.backend import ready_backend
from dovetail_aten.meta import MetaArray
from dovetail_dispatcher.table import registry
from dovetail_kernel import DTYPES, DispatchKey, dtype


def native_dtype(wanted: dtype) -> Any:
    """Return NumPy's dtype, for bfloat16 that of ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16 if wanted.name == "bfloat16" else wanted.name)


_DTYPES = {native_dtype(each): each for each in DTYPES}


class Shaped(NamedTuple):
    """Shape and dtype of a result."""

    shape: tuple[int, ...]
    dtype: Any


@cache
def _rule(name: str) -> Any:
    ready_backend("meta")
    base, _, overload = name.partition(".")
    kernel = registry.find_or_throw(f"aten::{base}", overload).newest(DispatchKey.Meta)
    return None if kernel is None else kernel.fn


def results_of(
    name: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[Shaped | None] | None:
    """Return what the results of an operator are like; None if that depends on values. Raises
    Exception as the operator does for arguments that do not fit.
    """
    rule = _rule(name)
    if rule is None:
        return None
    found = rule(*map(_without_data, args), **{key: _without_data(v) for key, v in kwargs.items()})
    several = found if isinstance(found, tuple | list) else (found,)
    return [
        None if each is None else Shaped(tuple(each.shape), native_dtype(each.dtype))
        for each in several
    ]


def _without_data(value: object) -> Any:
    if isinstance(value, da.Array | np.ndarray):
        return MetaArray(tuple(value.shape), _DTYPES[value.dtype])
    if isinstance(value, list | tuple):
        return [_without_data(each) for each in value]
    return _DTYPES[value] if isinstance(value, np.dtype) else value
