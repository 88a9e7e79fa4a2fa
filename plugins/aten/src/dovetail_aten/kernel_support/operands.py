"""Python numbers among the operands of array kernels, and half precision computed in single."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import (
    DTYPES,
    bfloat16,
    dtype,
    finfo,
    float16,
    float32,
    get_default_dtype,
    int64,
    result_dtype,
    warn_user_once,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.types import COMPLEX, FLOAT
from dovetail_kernel.typing import NativeDtype

from ..typing import Array, Scalar
from .capabilities import Capabilities

_CACHED_NUMBERS = 1024
_GREATEST = {each: finfo(each).max for each in DTYPES if each.category == FLOAT}
_CATEGORIES: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}


def discard_imaginary(array: Array) -> Any:
    """Return the real parts of a complex array that becomes real, with a warning once per
    process.
    """
    if array.size:
        warn_user_once(
            "Casting complex values to real discards the imaginary part. Cast x.real instead."
        )
    return array.real


def check_representable(value: Any, kind: dtype) -> None:
    """Check that a dtype can hold a number. Raises RuntimeError with PyTorch's message."""
    if kind is bool_ or kind.category == COMPLEX:
        return
    fits = not isinstance(value, complex) or not value.imag
    if fits and kind.category < FLOAT:
        value = real_number(value)
        limit = 1 << 8 * kind.itemsize - kind.is_signed
        # A negative int fits an unsigned dtype, as in C.
        least = -limit if kind.is_signed else 0 if isinstance(value, float) else 1 - limit
        fits = math.isfinite(value) and least <= value <= limit - 1
    elif fits:
        size = abs(real_number(value))
        fits = not size < math.inf or size <= _GREATEST[kind]
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {kind.name} without overflow: {value!r}. Convert "
            "the tensor first."
        )


def real_number(value: Scalar) -> Any:
    """Return the real part of a complex number, any other number itself."""
    return value.real if isinstance(value, complex) else value


class Numbers:
    """Operands for Python numbers, created once per value and dtype, since a namespace converts
    numbers again in every call.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self._number = capabilities.number
        self._dtypes = capabilities.dtypes
        self._native_dtypes = capabilities.native_dtypes
        self._known: dict[Any, Any] = {}
        self._fitting: dict[Any, Any] = {}

    def of_dtype(self, value: Any, native_dtype: NativeDtype) -> Any:
        """Return `value` as an operand of `native_dtype`."""
        key = (value, value.__class__, native_dtype)
        known = self._known.get(key)
        if known is None:
            if not value and isinstance(value, (float, complex)):
                key = (str(value), value.__class__, native_dtype)  # since -0.0 == 0.0
                known = self._known.get(key)
                if known is not None:
                    return known
            try:
                known = self._number(value, native_dtype)
            except (OverflowError, ValueError):
                raise RuntimeError(
                    f"value cannot be converted to type {self._dtypes[native_dtype].name} without "
                    f"overflow: {value!r}. "
                    "Convert the tensor first."
                ) from None
            if value == value:  # a NaN is never found again
                _keep(self._known, key, known)
        return known

    def like(self, array: Any, value: Any) -> Any:
        """Return `value` as an operand of the dtype of `array`."""
        native_dtype = array.dtype
        known = self._known.get((value, value.__class__, native_dtype))
        return self.of_dtype(value, native_dtype) if known is None else known

    def fitting(self, array: Any, value: Any) -> Any:
        """Return `value` as an operand of the dtype of `array`, to be stored in it.

        Raises
        ------
        RuntimeError
            If the value does not fit into the dtype.
        """
        native_dtype = array.dtype
        known = self._fitting.get((value, value.__class__, native_dtype))
        return self.stored(value, native_dtype) if known is None else known

    def stored(self, value: Scalar, native_dtype: NativeDtype) -> Any:
        """Return `value` as an operand with `native_dtype`, to be stored in an array of that dtype.
        Raises the errors of `fitting`.
        """
        key = (value, value.__class__, native_dtype)
        known = self._fitting.get(key)
        if known is not None:
            return known
        if not value and value.__class__ is not complex:  # held by any dtype; and 0.0 == -0.0
            return self.of_dtype(value, native_dtype)
        own = self._dtypes[native_dtype]
        check_representable(value, own)
        number = value if own is bool_ or own.category == COMPLEX else real_number(value)
        known = self.of_dtype(number, native_dtype)
        if value and value == value:  # -0j would be found for 0j, and a NaN never
            _keep(self._fitting, key, known)
        return known

    def pair(self, array: Any, value: Any) -> tuple[Any, Any]:
        """Return an array and a number, or another array, with one dtype.

        If the number has a higher category, the array is converted: an int array with a Python
        float becomes an array of the default float dtype.
        """
        category = _CATEGORIES.get(value.__class__)
        if category is None:
            return array, value
        own = self._dtypes[array.dtype]
        if category > own.category:
            array = array.astype(self._native_dtypes[result_dtype([own], [], [category])])
        return array, self.of_dtype(value, array.dtype)

    def either(self, x: Any, other: Any) -> tuple[Any, Any]:
        """Return two arrays with the same dtype; either argument may be a number."""
        if hasattr(x, "dtype"):
            return self.pair(x, other)
        array, number = self.pair(other, x)
        return number, array

    def as_float(self, array: Array) -> Any:
        """Return a floating-point or complex array itself, and another array in the default
        dtype.
        """
        if self._dtypes[array.dtype].category < FLOAT:
            return array.astype(self._native_dtypes[get_default_dtype()])
        return array


def _keep(cache: dict[object, object], key: Sequence[object], value: Array) -> None:
    """Put a value into a cache, which is emptied when it is full."""
    if len(cache) >= _CACHED_NUMBERS:
        cache.clear()
    cache[key] = value


class Precision:
    """The dtype that a kernel computes in: float32 for half precision, int64 for sums of
    integers.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        native = capabilities.native_dtypes
        self.single = native[float32]
        self.halves = frozenset(native[half] for half in (float16, bfloat16) if half in native)
        self.integral = frozenset(
            each for each, dtype in capabilities.dtypes.items() if dtype.category < FLOAT
        )
        self.complex = frozenset(
            each for each, dtype in capabilities.dtypes.items() if dtype.category == COMPLEX
        )
        self.real_floats = frozenset(
            each for each, dtype in capabilities.dtypes.items() if dtype.category == FLOAT
        )
        self._real = frozenset(
            each
            for each, dtype in capabilities.dtypes.items()
            if dtype.category < COMPLEX and dtype is not bool_
        )
        self.accumulators = {half: native[float32] for half in self.halves} | {
            each: native[int64] for each in self.integral
        }
        """Dtype that a sum accumulates in, where that is not the array's own."""
        self._cast = capabilities.compiled("arrays.cast", _cast)

    def converted(self, array: Array, native_dtype: NativeDtype) -> Any:
        """Return an array in another dtype. Complex numbers are converted to their real parts,
        except for bools.
        """
        if array.dtype in self.complex and native_dtype in self._real:
            array = discard_imaginary(array)
        return array if array.dtype == native_dtype else self._cast(array, native_dtype)

    def wide(self, value: Any) -> Any:
        """Return an array of half precision in float32, and other arrays unchanged."""
        if getattr(value, "dtype", None) in self.halves:
            return self._cast(value, self.single)
        return value

    def narrow(self, result: Array | None, own: Any) -> Any:
        """Return a result in the half-precision dtype `own` that was computed in float32.

        None, and results of other dtypes, are returned unchanged.
        """
        return result if result is None or result.dtype != self.single else self._cast(result, own)


def _cast(array: Array, native_dtype: NativeDtype) -> Any:
    """Return a copy in another dtype."""
    return array.astype(native_dtype)
