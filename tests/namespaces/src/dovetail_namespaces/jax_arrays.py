"""`JaxArrays`: JAX's arrays as the core and the array kernels see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import dovetail
from dovetail.backends import register_backend

from .unwritten_arrays import UnwrittenArrays

__all__ = ["JaxArrays", "register"]

jax.config.update("jax_enable_x64", True)  # else float64 becomes float32

_ALL: Final = slice(None)
_MAY_GIVE_BACK: Final = {"concatenate", "cumprod", "cumsum"}
"""Functions of JAX that return an argument of which there is nothing to compute."""

_COMBINED: Final = {"multiply": "multiply", "maximum": "max", "minimum": "min"}


class JaxArrays(UnwrittenArrays):
    """JAX's arrays, which clamp indices that are out of range."""

    array_types = (type(jnp.zeros(1)),)

    def native_dtype(self, wanted: dovetail.dtype) -> Any:
        """Return NumPy's dtype, for bfloat16 that of ml_dtypes."""
        return jnp.dtype(wanted.name)

    # -- making arrays -----------------------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` as an array; one of NumPy's is copied, and may be written after."""
        if isinstance(value, jax.Array):
            return value if native_dtype in (None, value.dtype) else value.astype(native_dtype)
        made = np.array(value, native_dtype)
        if made.dtype not in self.dtype_bits:
            raise TypeError(f"jax.numpy has no dtype {made.dtype} that a tensor can have.")
        return jnp.asarray(made)

    def to_host(self, array: Any) -> Any:
        """Return a copy that can be written."""
        return np.array(array)

    def clone(self, array: Any) -> Any:
        """Return another array with the same elements."""
        return array.copy()

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return an array full of `fill`, with `value` at ``[key]``."""
        return jnp.full(tuple(shape), fill, dtype=value.dtype).at[key].set(value)

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, also at repeated places."""
        place = array.at[key]
        made = _added(place, values) if accumulate else place.set(values)
        return made if made is not array else array.copy()  # which JAX leaves out for no places

    def index_combine(self, array: Any, key: tuple[Any, ...], values: Any, function: str) -> Any:
        """Return a copy with `values` combined with what is at ``[key]``. JAX multiplies no bools:
        one that is false makes the product false.
        """
        if function == "multiply" and array.dtype == bool:
            function = "minimum"
        return getattr(array.at[key], _COMBINED[function])(values)

    def index_add(self, array: Any, dim: int, index: Any, source: Any) -> Any:
        """Return a copy with the slices of `source` added at `index` along `dim`."""
        return self.index_put(array, (*(_ALL,) * dim, index), source, True)

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        key = list(jnp.ix_(*[jnp.arange(length) for length in index.shape]))
        key[dim] = index
        return self.index_put(array, tuple(key), source, accumulate)

    # -- functions that namespaces lack ------------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function."""
        return jax.scipy.special.erf(array)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function."""
        return jax.scipy.special.erfc(array)


class Namespace:
    """The names of `jax.numpy`; there is no order of strides that could be asked for."""

    __name__ = "jax.numpy"

    def __getattr__(self, name: str) -> Any:
        found = getattr(jnp, name)
        if name in _MAY_GIVE_BACK:
            return _copying(found)
        if name in ("all", "any"):
            return _of_truth(found)
        if name != "array" and not name.endswith("_like"):
            return found

        def make(*args: Any, order: str | None = None, **kwargs: Any) -> Any:
            return found(*args, **kwargs)

        return make


def _of_truth(function: Any) -> Any:
    """Return ``all`` or ``any``; of complex numbers JAX takes the real parts alone."""

    def test(given: Any, *args: Any, **kwargs: Any) -> Any:
        is_complex = jnp.iscomplexobj(given)
        return function(given != 0 if is_complex else given, *args, **kwargs)

    return test


def _copying(function: Any) -> Any:
    """Return `function`, whose result is never its argument."""

    def call(given: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(given, *args, **kwargs)
        is_given = made is given or (
            isinstance(given, tuple | list) and any(made is each for each in given)
        )
        return made.copy() if is_given else made

    return call


def register() -> None:
    """Register the device ``jax``."""
    register_backend("jax", Namespace(), JaxArrays)


def _added(place: Any, values: Any) -> Any:
    """Return an array with `values` added at a place of it. JAX adds no bools, of which one that is
    true makes the sum true.
    """
    return place.max(values) if values.dtype == bool else place.add(values)
