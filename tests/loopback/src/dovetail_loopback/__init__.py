"""NumPy under another name: device ``loopback``, for running the base library's tests on a backend
of a third party.
"""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np

import dovetail
from dovetail.backends import BackendSpec, NamespaceArrays, hookimpl, register_backend

from .library import Array, Library, of_the_class


class LoopbackArrays(NamespaceArrays):
    """The differences to NumPy: the class, bfloat16, and the states of generators."""

    array_types = (Array,)
    scipy_package = "scipy"

    def native_dtype(self, wanted: dovetail.dtype) -> Any:
        """Return NumPy's dtype, for bfloat16 that of ml_dtypes."""
        return (
            np.dtype(ml_dtypes.bfloat16)
            if wanted is dovetail.bfloat16
            else super().native_dtype(wanted)
        )

    def asarray(self, value: Any, native_dtype: Any = None) -> Array:
        """Return `value` as an array of the class."""
        return super().asarray(value, native_dtype).view(Array)

    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """Return `array` as a plain array in the same memory."""
        return array.view(np.ndarray)

    def storage_of(self, array: Array) -> np.ndarray[Any, Any]:
        """Return the last array among the bases of `array`; NumPy has others between them."""
        base: Any = array
        while (base := getattr(base, "base", None)) is not None:
            array = base if isinstance(base, np.ndarray) else array
        return array

    def scipy(self, function: str) -> Any | None:
        """Return a function of SciPy with results of the class; None if there is none."""
        found = super().scipy(function)
        return found and of_the_class(found)

    def new_generator(self, seed: int) -> Library:
        """Return a generator that depends on `seed` alone."""
        return Library(np.random.default_rng(seed))

    def generator_state(self, native: Library, seed: int) -> bytes:
        """Return where a generator stands, and the seed that it started from."""
        return pickle.dumps((native.wrapped, seed)).ljust(1024)  # all states are of one size

    def restored_generator(self, state: bytes, like: Library) -> tuple[Library, int]:
        """Return a generator that stands where `generator_state` says, and its seed."""
        generator, seed = pickle.loads(state)
        return Library(generator), seed


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the backend."""
    return BackendSpec(
        "loopback", lambda: register_backend("loopback", Library(np), LoopbackArrays)
    )
