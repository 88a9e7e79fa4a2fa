"""Data types: predicates, limits, and conversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail_aten import Tensor
from dovetail_kernel import (
    DeviceLike,
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel import finfo as finfo_of
from dovetail_kernel import iinfo as iinfo_of

from .promotion import COMPLEX, FLOATS, SIGNED, UNSIGNED, common_dtype, result_dtype

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = bool_

KINDS: dict[str, tuple[dtype, ...]] = {
    "bool": (bool_,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": (*FLOATS, float16, bfloat16),
    "complex floating": COMPLEX,
    "numeric": (*SIGNED, *UNSIGNED, *FLOATS, float16, bfloat16, *COMPLEX),
}
"""Kinds of dtypes, and the dtypes of each."""


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtype


def _dtype_of(value: object) -> dtype:
    found = value.dtype if isinstance(value, Tensor) else value
    if not isinstance(found, dtype):
        raise TypeError(f"expected a dtype or an array, but got {type(value).__name__}.")
    return found


def astype(
    x: Tensor, dtype: dtype, /, *, copy: object = True, device: DeviceLike | None = None
) -> Tensor:
    """Return `x` converted to another dtype, and to another device if passed; a copy unless
    ``copy=False`` and nothing changes.
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"{x.dtype} does not convert to {dtype}: take real(x) or imag(x) first.")
    made: Tensor = x.to(x.device if device is None else device, dtype, copy=copy)
    return made


def can_cast(from_: object, to: dtype, /) -> Any:
    """Return whether a dtype, or the dtype of an array, can be promoted to another dtype."""
    first = _dtype_of(from_)
    try:
        same_kind = first.category == to.category or {first.category, to.category} == {2, 3}
        return same_kind and common_dtype(first, to) is to
    except TypeError:
        return False


def finfo(type: object, /) -> FloatInfo:
    """Return the limits of a floating-point dtype, or of the dtype of an array."""
    found = _dtype_of(type)
    if found.category < 2:
        raise TypeError(f"finfo is of floating-point dtypes, not of {found}. Use iinfo.")
    part = {complex64: float32, complex128: float64}.get(found, found)
    info = finfo_of(part)
    return FloatInfo(info.bits, info.eps, info.max, info.min, info.smallest_normal, part)


def iinfo(type: object, /) -> IntegerInfo:
    """Return the limits of an integer dtype, or of the dtype of an array."""
    found = _dtype_of(type)
    if found.category != 1:
        raise TypeError(f"iinfo is of integer dtypes, not of {found}. Use finfo.")
    info = iinfo_of(found)
    return IntegerInfo(info.bits, info.max, info.min, found)


def isdtype(dtype: dtype, kind: object) -> Any:
    """Return whether a dtype has a kind: a dtype, a name in `KINDS`, or a tuple of these.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For a kind that does not exist.
    """
    if isinstance(kind, tuple):
        return any([isdtype(dtype, each) for each in kind])
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"unknown kind of dtypes: {kind!r}. It is one of: {', '.join(KINDS)}.")
        return dtype in KINDS[kind]
    if isinstance(kind, type(bool_)):
        return dtype is kind
    raise TypeError(f"kind has to be a dtype, a string or a tuple of these, not {kind!r}.")


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """Return the dtype that arrays, dtypes and numbers promote to."""
    return result_dtype(*arrays_and_dtypes)


def check_kinds(name: str, kinds: str | tuple[str, ...], *arrays: Any) -> None:
    """Raise an error for anything except an array of some kinds of dtypes.

    Raises
    ------
    TypeError
        Naming the kinds that the function is for.
    """
    for each in arrays:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{name} takes arrays, not {type(each).__name__}. Convert it with asarray."
            )
        if not isdtype(each.dtype, kinds):
            named = kinds if isinstance(kinds, str) else " or ".join(kinds)
            raise TypeError(f"{name} is of {named} dtypes, not of {each.dtype}. Use astype.")


def names_of_kinds(kind: str | Sequence[str] | None) -> dict[str, dtype]:
    """Return the dtypes of the standard that are of a kind, by name; of all if that is None."""
    known = {each.name: each for each in (bool_, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)}
    if kind is None:
        return known
    kinds = tuple(kind) if not isinstance(kind, str) else kind
    return {name: each for name, each in known.items() if isdtype(each, kinds)}
