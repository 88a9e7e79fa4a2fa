"""Sets of dtypes by kind, with PyTorch's names, for `OpInfo.dtypes`."""

from __future__ import annotations

from typing import Final

from dovetail_kernel import (
    complex64,
    complex128,
    dtype,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

_FLOATING: Final = frozenset({float32, float64})
_INTEGRAL: Final = frozenset({uint8, int8, int16, int32, int64})
_COMPLEX: Final = frozenset({complex64, complex128})


def floating_types() -> frozenset[dtype]:
    """Return float32 and float64."""
    return _FLOATING


def floating_types_and(*dtypes: dtype) -> frozenset[dtype]:
    """Return float32, float64 and `dtypes`."""
    return _FLOATING | set(dtypes)


def integral_types() -> frozenset[dtype]:
    """Return the common integer dtypes: uint8, int8, int16, int32, int64."""
    return _INTEGRAL


def integral_types_and(*dtypes: dtype) -> frozenset[dtype]:
    """Return `integral_types` and `dtypes`."""
    return _INTEGRAL | set(dtypes)


def complex_types() -> frozenset[dtype]:
    """Return complex64 and complex128."""
    return _COMPLEX


def floating_and_complex_types() -> frozenset[dtype]:
    """Return float32, float64, complex64 and complex128."""
    return _FLOATING | _COMPLEX


def floating_and_complex_types_and(*dtypes: dtype) -> frozenset[dtype]:
    """Return `floating_and_complex_types` and `dtypes`."""
    return _FLOATING | _COMPLEX | set(dtypes)


def all_types() -> frozenset[dtype]:
    """Return float32, float64 and the integers."""
    return _FLOATING | _INTEGRAL


def all_types_and(*dtypes: dtype) -> frozenset[dtype]:
    """Return `all_types` and `dtypes`."""
    return _FLOATING | _INTEGRAL | set(dtypes)


def all_types_and_complex() -> frozenset[dtype]:
    """Return `all_types` and the complex dtypes."""
    return _FLOATING | _INTEGRAL | _COMPLEX


def all_types_and_complex_and(*dtypes: dtype) -> frozenset[dtype]:
    """Return `all_types_and_complex` and `dtypes`."""
    return _FLOATING | _INTEGRAL | _COMPLEX | set(dtypes)
