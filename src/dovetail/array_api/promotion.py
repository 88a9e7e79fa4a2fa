"""Type promotion of the standard: by dtypes only, independent of the dimensions of the operands.

Arithmetic of uint16, uint32 and uint64, which PyTorch and `dovetail` do not support, is delegated
to the array library (`by_standard`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_
from dovetail_kernel import (
    complex64,
    complex128,
    dtype,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

UNSIGNED: Final = (uint8, uint16, uint32, uint64)
SIGNED: Final = (int8, int16, int32, int64)
FLOATS: Final = (float32, float64)
COMPLEX: Final = (complex64, complex128)
WIDE_UNSIGNED: Final = frozenset((uint16, uint32, uint64))
"""Dtypes that operators of PyTorch do not compute in."""

Number = bool | int | float | complex
_Function = TypeVar("_Function", bound=Callable[..., Any])


def default_complex() -> dtype:
    """Return the default complex dtype: of the precision of the default float."""
    return complex128 if get_default_dtype() is float64 else complex64


def common_dtype(first: dtype, second: dtype) -> dtype:
    """Return the dtype that two promote to.

    Raises
    ------
    TypeError
        For uint64 and a signed integer, which no integer dtype holds, and for bool and a number.
    """
    if first is second:
        return first
    if first.category < second.category:
        first, second = second, first
    if second is bool_:
        raise TypeError(f"{first} and {second} do not promote: convert the bools with astype.")
    if first.category == second.category:
        mixed = {first in UNSIGNED, second in UNSIGNED} == {True, False}
        if mixed and first.category == 1:
            signed, unsigned = (second, first) if first in UNSIGNED else (first, second)
            place = max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)
            if place == len(SIGNED):
                raise TypeError(
                    f"{first} and {second} do not promote: no integer dtype holds both."
                )
            return SIGNED[place]
        return first if first.itemsize >= second.itemsize else second
    # PyTorch's answer, where the standard has none: that of the higher kind.
    if first.category == 3 and second is float64:
        return complex128
    return first


def result_dtype(*values: Any) -> dtype:
    """Return the dtype of a result of tensors, dtypes and Python numbers.

    Raises
    ------
    TypeError
        If there is neither a tensor nor a dtype, or a value is none of these.
    """
    found: dtype | None = None
    for value in values:
        each = value.dtype if isinstance(value, Tensor) else value
        if isinstance(each, dtype):
            found = each if found is None else common_dtype(found, each)
        elif not isinstance(each, Number):
            raise TypeError(
                f"expected an array, a dtype or a number, but got {type(value).__name__}. Convert "
                "it with asarray."
            )
    if found is None:
        raise TypeError("at least one array or dtype is required. Give an array.")
    for value in values:
        if isinstance(value, Number):
            found = _beside_number(found, value)
    return found


def _beside_number(found: dtype, value: object) -> dtype:
    """Return the dtype of an operand of dtype `found` and a Python number."""
    if isinstance(value, bool):
        if found is not bool_:
            return found
        return bool_
    if found is bool_:
        raise TypeError(f"a bool array and the number {value!r} do not promote: use astype.")
    if isinstance(value, complex) and found.category < 3:
        return complex128 if found is float64 else default_complex()
    if isinstance(value, float) and found.category < 2:
        return get_default_dtype()
    return found


def promoted(*operands: Any) -> list[Tensor]:
    """Return operands as tensors of their common dtype.

    Raises
    ------
    TypeError
        If none is a tensor, or they do not promote.
    """
    first = next(iter([each for each in operands if isinstance(each, Tensor)]), None)
    if first is None:
        raise TypeError("at least one operand has to be an array. Convert one with asarray.")
    wanted = result_dtype(*operands)
    return [
        (each if each.dtype is wanted else each.to(wanted))
        if isinstance(each, Tensor)
        else aten.tensor(each, dtype=wanted, device=first.device)
        for each in operands
    ]


def sum_dtype(x: Tensor) -> dtype:
    """Return the dtype of sums and products: the default integer dtype for narrower integers,
    unsigned for unsigned ones, and otherwise the same dtype.
    """
    if x.dtype is bool_ or x.dtype in SIGNED:
        return int64
    return uint64 if x.dtype in UNSIGNED else x.dtype


# -- what operators do not compute -----------------------------------------------------------------


def by_standard(
    name: str = "", *, dtypes: frozenset[dtype] = WIDE_UNSIGNED
) -> Callable[[_Function], _Function]:
    """Delegate a function to the array library of its arguments if operators do not support the
    dtype of one of them.

    Parameters
    ----------
    name
        Name in the library, such as ``"linalg.trace"``; default: the name of the function.
    dtypes
        The dtypes that operators do not support.
    """

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def compute(*args: Any, **kwargs: Any) -> Any:
            for each in (*args, *kwargs.values()):
                parts = each if isinstance(each, list | tuple) else (each,)
                for part in parts:
                    if isinstance(part, Tensor) and part.dtype in dtypes:
                        return on_arrays(name or function.__name__, part, args, kwargs)
            return function(*args, **kwargs)

        return compute  # type: ignore[return-value]

    return decorate


def on_arrays(name: str, of: Tensor, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
    """Return what a function of the array library gives, as tensors."""
    library: Any = of._backend.arrays
    function: Any = library.xp
    for part in name.split("."):
        function = getattr(function, part)
    native = library.native_dtypes

    def array(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.array
        if isinstance(value, dtype):
            return native[value]
        return type(value)(map(array, value)) if type(value) in (list, tuple) else value

    with library.quiet():
        result = function(*map(array, args), **{key: array(each) for key, each in kwargs.items()})
    return _as_tensors(result, of)


def _as_tensors(result: object, of: Tensor) -> Any:
    if isinstance(result, tuple):
        several = [_as_tensors(each, of) for each in result]
        return type(result)(*several) if hasattr(result, "_fields") else tuple(several)
    if isinstance(result, list):
        return [_as_tensors(each, of) for each in result]
    # A copy: of numbers an array, of views what has memory of its own.
    library: Any = of._backend.arrays
    return aten.asarray(library.xp.array(result, order="C"))
