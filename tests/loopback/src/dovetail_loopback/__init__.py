"""NumPy under another name: device ``loopback``, for running the base library's tests on a backend
of a third party.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import dovetail
from dovetail.backends import BackendSpec, NamespaceArrays, hookimpl, register_backend


class Array(np.ndarray[Any, Any]):
    """An array that is not the cpu's: what NumPy returns otherwise is made one when a tensor gets
    it.
    """


class LoopbackArrays(NamespaceArrays):
    """The differences to NumPy: the class, and bfloat16; SciPy takes the arrays as they are."""

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


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the backend."""
    return BackendSpec("loopback", lambda: register_backend("loopback", np, LoopbackArrays))
