"""Type promotion: which dtype a result has, given the dtypes and Python numbers that went in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..sockets import DEFAULT_DTYPE
from .dtype import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    bool_,
    complex128,
    dtype,
    float32,
    float64,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .named_dtype import NamedDtype

_WIDE_UNSIGNED = frozenset({uint16, uint32, uint64})
_SIGNED_FOR = {uint16: int32, uint32: int64}
"""The least signed dtypes that hold the numbers of unsigned ones."""

PYTHON_DTYPES = {bool: bool_, int: int64, float: float64, complex: complex128}
"""The dtypes that Python's classes of numbers name: ``dtype=int`` is int64."""

_default: dtype = float32


@cache
def promote_types(first: dtype, second: dtype) -> dtype:
    """Return the smallest dtype that both arguments may be converted to.

    Raises
    ------
    RuntimeError
        For uint64 and a signed integer, which no integer dtype holds.
    TypeError
        For anything but dtypes.
    """
    first, second = PYTHON_DTYPES.get(first, first), PYTHON_DTYPES.get(second, second)  # type: ignore[call-overload]
    for place, each in enumerate((first, second), 1):
        if isinstance(each, NamedDtype):
            raise each.refusal()
        if each.__class__ is not dtype:
            raise TypeError(
                f"promote_types(): argument 'type{place}' (position {place}) must be "
                f"dovetail.dtype, not {type(each).__name__}. Use result_type for tensors."
            )
    if first is second:
        return first
    low, high = sorted((first, second), key=lambda each: (each.category, each.itemsize))
    if not _WIDE_UNSIGNED.isdisjoint((low, high)) and low.category == high.category == INT:
        return _promote_unsigned(low, high)
    if low.category == FLOAT and high.category == COMPLEX:
        return promote_types(low.to_complex(), high)
    if low.category != high.category or low.itemsize != high.itemsize:
        return high
    # Equal size, different kinds, neither holds the other: the next size up holds both.
    return int16 if uint8 in (low, high) else float32


def _promote_unsigned(low: dtype, high: dtype) -> dtype:
    """Return what NumPy promotes two integers to, of which one is unsigned and no byte; PyTorch
    promotes none of them.
    """
    if not (low.is_signed or high.is_signed):
        return high
    unsigned, signed = (high, low) if low.is_signed else (low, high)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned in _SIGNED_FOR:
        return _SIGNED_FOR[unsigned]
    raise RuntimeError(
        f"No integer holds the numbers of {unsigned.scalar_name} and {signed.scalar_name}: they do "
        "not promote. Convert one of the operands, for example by .to(dovetail.int64)."
    )


def can_cast(source: dtype, destination: dtype) -> bool:
    """Return whether dtype `source` can be cast to `destination`: categories must not decrease."""
    source = PYTHON_DTYPES.get(source, source)  # type: ignore[call-overload]
    destination = PYTHON_DTYPES.get(destination, destination)  # type: ignore[call-overload]
    return source.category <= destination.category


def result_dtype(
    dimensioned: Iterable[dtype],
    zero_dim: Iterable[dtype] = (),
    scalar_categories: Iterable[int] = (),
) -> dtype:
    """Return the dtype of an operation on tensors with dimensions, 0-d tensors and Python numbers.

    These are three classes, strongest first. A weaker class only counts where its category (bool <
    int < float < complex) is higher than that of the stronger one.

    Parameters
    ----------
    dimensioned
        Dtypes of the operands with at least one dimension.
    zero_dim
        Dtypes of the 0-d operands.
    scalar_categories
        Categories of the Python numbers among the operands (`dtype.category`): a float counts as
        the default dtype.

    Raises
    ------
    RuntimeError
        If two dtypes of one class do not promote.
    ValueError
        If there is no operand at all.
    """
    scalars = _promote_all(scalar_dtype(category) for category in scalar_categories)
    result = _combine(_promote_all(dimensioned), _combine(_promote_all(zero_dim), scalars))
    if result is None:
        raise ValueError(
            "result_dtype() needs at least one operand; pass a dtype or the category of a number"
        )
    return result


def scalar_dtype(category: int) -> dtype:
    """Return the dtype that a Python number of this category becomes: bool, int64, the default, its
    complex.
    """
    match category:
        case 0:
            return bool_
        case 1:
            return int64
        case 2:
            return _default
        case _:
            return _default.to_complex()


def scalar_category(value: bool | int | float | complex) -> int:
    """Return the promotion category of a Python number."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    return FLOAT if isinstance(value, float) else COMPLEX


def get_default_dtype() -> dtype:
    """Return the dtype that Python floats become."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the default dtype of Python floats for the whole process.

    Raises
    ------
    TypeError
        If `d` is not a floating-point dtype.
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type, "
            f"got {d!r}; pass a dtype such as dovetail.float64"
        )
    if not d.is_floating_point or isinstance(d, NamedDtype):
        raise TypeError(
            f"only floating-point types are supported as the default type, got {d!r}; "
            f"pass dovetail.float16, bfloat16, float32 or float64"
        )
    if d is not _default:
        _default = d
        for listener in DEFAULT_DTYPE.plugs:
            listener(d)


def _promote_all(dtypes: Iterable[dtype]) -> dtype | None:
    result = None
    for each in dtypes:
        result = each if result is None else promote_types(result, each)
    return result


def _combine(stronger: dtype | None, weaker: dtype | None) -> dtype | None:
    if stronger is None or weaker is None:
        return stronger or weaker
    if stronger.category >= weaker.category:
        return stronger
    if stronger.category == FLOAT:
        return stronger.to_complex()
    return weaker
