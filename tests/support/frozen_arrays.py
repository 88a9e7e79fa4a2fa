"""A backend of NumPy's arrays that cannot be written, and have no address."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dovetail.backends import NamespaceArrays, register_backend

__all__ = ["FrozenArrays", "unwritten_and_written"]


class Frozen(np.ndarray[Any, Any]):
    """An array that refuses to be written."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("an immutable array was written to")


class FrozenArrays(NamespaceArrays):
    """Immutable arrays around NumPy's."""

    array_types = (Frozen,)
    mutable_arrays = False

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        return super().asarray(value, native_dtype).view(Frozen)

    def to_host(self, array: Any) -> Any:
        return array.view(np.ndarray).copy()

    def data_ptr(self, array: Any) -> int:
        return 0

    def embed(self, value: Any, shape: Any, key: Any, fill: Any) -> Any:
        made = np.full(shape, fill, value.dtype)
        made[key] = value
        return made

    def index_put(self, array: Any, key: Any, values: Any, accumulate: bool) -> Any:
        made = np.array(array)
        (np.add.at if accumulate else np.ndarray.__setitem__)(made, key, values)
        return made

    def index_add(self, array: Any, dim: int, index: Any, source: Any) -> Any:
        return self.index_put(array, (slice(None),) * dim + (index,), source, accumulate=True)

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        key = list(np.ix_(*map(np.arange, index.shape)))
        key[dim] = index
        return self.index_put(array, tuple(key), source, accumulate)


@cache
def unwritten_and_written() -> tuple[str, str]:
    """Return the names of two devices of NumPy's arrays: one that cannot be written, and one that
    can.
    """
    return (
        register_backend("unwritten", np, FrozenArrays).name,
        register_backend("written", np).name,
    )
