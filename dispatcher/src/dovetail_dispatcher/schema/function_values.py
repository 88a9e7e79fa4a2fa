"""Which values public functions take for numbers: fewer than the operators of `ops`, as in PyTorch.

``x.sum(True)`` is a slip for ``x.sum(keepdim=True)``, and no sum along dimension 1.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase
from dovetail_kernel import bool as bool_

from .casts import CastError
from .numbers import is_number, is_numpy_scalar, stands_for_number
from .types import (
    BoolType,
    FloatType,
    IntType,
    LayoutType,
    ListType,
    MemoryFormatType,
    NumberType,
    ScalarTypeType,
    Type,
)


def function_value(declared: Type, size: int | None, value: Any) -> Any:
    """Return what a public function takes `value` for, before it is cast to its type.

    Parameters
    ----------
    declared
        The type of the argument, not optional.
    size
        Of ``int[2]`` how many elements a single number stands for.
    value
        What was given.

    Raises
    ------
    CastError
        If `value` is a bool or a fraction in place of an int, another number in that of a bool,
        a tensor that requires grad, or has dimensions, in that of a number, or the code or name of
        a dtype, layout or memory format in its place.
    """
    kind = declared.collapsed
    if isinstance(declared, ScalarTypeType | LayoutType | MemoryFormatType):
        if is_number(value) or isinstance(value, str):
            raise CastError("codes and names do not stand for dtypes, layouts and memory formats")
    elif isinstance(kind, IntType):
        _check_int(value)
    elif isinstance(kind, BoolType):
        if not isinstance(value, bool) and not _is_numpy_bool(value):
            raise CastError("only True and False stand for themselves here")
    elif isinstance(kind, FloatType):
        _check_tensor(value)
    elif isinstance(kind, NumberType) and stands_for_number(value):
        return value.item()
    elif isinstance(declared, ListType) and isinstance(declared.elem.collapsed, IntType):
        return _ints(size, value)
    return value


def _ints(size: int | None, value: object) -> Any:
    """Return ints, or the one that stands for `size` of them, or for a list of one."""
    if isinstance(value, list | tuple):
        # As PyTorch, which looks at the first element whether it is a bool.
        for element in value[:1]:
            _check_int(element)
        for element in value:
            _check_whole(element)
        return value
    if isinstance(value, TensorBase) and value.ndim:
        if value.numel() != 1:
            raise CastError("a tensor of several elements is not a list of ints: use tolist()")
        single: Any = value
        value = single.item()
    elif getattr(value, "ndim", 0) and not isinstance(value, TensorBase):
        raise CastError("an array that has dimensions is not a list of ints: use tolist()")
    if isinstance(value, TensorBase) or hasattr(value, "__index__"):
        _check_int(value)
        return [int(value)] * (size or 1)
    _check_whole(value)
    return value


def _check_int(value: object) -> None:
    if isinstance(value, bool) or _is_numpy_bool(value) or _is_bool_tensor(value):
        raise CastError("a bool is not an int: give it by keyword if another argument is meant")
    _check_tensor(value)
    _check_whole(value)


def _check_whole(value: object) -> None:
    if isinstance(value, TensorBase):
        fraction = value.is_floating_point() or value.is_complex()
    else:
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        fraction = isinstance(value, float) or kind in ("f", "c")
    if fraction:
        raise CastError("a float is not an int, even a whole one: int(...) makes one of it")


def _check_tensor(value: object) -> None:
    if isinstance(value, TensorBase):
        if value.requires_grad:
            raise CastError("the tensor requires grad, which a number cannot keep: use item()")
        if value.ndim:
            raise CastError("a tensor that has dimensions is not a number: use item()")


def _is_numpy_bool(value: Any) -> bool:
    return is_numpy_scalar(value) and value.dtype.kind == "b"


def _is_bool_tensor(value: object) -> bool:
    return isinstance(value, TensorBase) and value.dtype is bool_
