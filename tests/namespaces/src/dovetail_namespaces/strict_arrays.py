"""`StrictArrays`: arrays that can do what the array API standard says, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import array_api_strict as standard
import numpy as np

import dovetail
from dovetail.backends import register_backend

from .strict_array import KINDS, Array, wrapped
from .strict_namespace import Namespace
from .unwritten_arrays import UnwrittenArrays

__all__ = ["StrictArrays", "register"]


class StrictArrays(UnwrittenArrays):
    """Arrays of the standard: what it has no function for is done in host memory."""

    array_types = (Array,)

    def native_dtype(self, wanted: dovetail.dtype) -> Any:
        """Return the standard's dtype; there are no halves."""
        return KINDS.get(wanted.name)

    # -- making arrays -----------------------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` as an array; one of NumPy's is copied, and may be written after."""
        if isinstance(value, Array):
            return value if native_dtype in (None, value.dtype) else value.astype(native_dtype)
        made = np.array(value, None if native_dtype is None else self.dtypes[native_dtype].name)
        if made.dtype.name not in KINDS:
            raise TypeError(
                f"array_api_strict has no dtype {made.dtype}. "
                f"Convert to one of {', '.join(each.name for each in self.native_dtypes)}."
            )
        return wrapped(standard.asarray(made))

    def to_host(self, array: Any) -> Any:
        """Return a copy that can be written."""
        return np.array(array.strict)

    def clone(self, array: Any) -> Any:
        """Return another array with the same elements."""
        return wrapped(standard.asarray(array.strict, copy=True))

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return an array full of `fill`, with `value` at ``[key]``."""
        made = np.full(tuple(shape), fill, self.dtypes[value.dtype].name)
        made[key] = self.to_host(value)
        return self.asarray(made)

    # -- indexing ----------------------------------------------------------------------------------

    def _with(
        self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool, method: str
    ) -> Any:
        made = self.to_host(array)
        key, values = self._host_key(key), self._host(values)
        (np.add.at if accumulate else np.ndarray.__setitem__)(made, key, values)
        return self.asarray(made)

    def index_combine(self, array: Any, key: tuple[Any, ...], values: Any, function: str) -> Any:
        """Return a copy with `values` combined with what is at ``[key]``."""
        made = self.to_host(array)
        getattr(np, function).at(made, self._host_key(key), self._host(values))
        return self.asarray(made)

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        key = list(np.ix_(*[np.arange(length) for length in index.shape]))
        key[dim] = self.to_host(index)
        return self._with(array, tuple(key), source, accumulate, "scatter")

    def _host_key(self, key: tuple[Any, ...]) -> Any:
        return tuple(map(self._host, key))

    def _host(self, value: Any) -> Any:
        return self.to_host(value) if isinstance(value, Array) else value


def register() -> None:
    """Register the device ``strict``."""
    register_backend("strict", Namespace(), StrictArrays)
