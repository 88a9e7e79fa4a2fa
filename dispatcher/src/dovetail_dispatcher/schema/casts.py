"""Casts call arguments to the types of a schema: one function per type, built once.

A cast returns the value a kernel receives, or raises `CastError` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import dovetail_kernel
from dovetail_kernel import Device, TensorBase

from .class_types import ClassType
from .codes import DTYPE_NAMES, LAYOUT_NAMES, MEMORY_FORMAT_NAMES
from .errors import shown
from .numbers import is_numpy_scalar, numpy_number
from .types import (
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    GeneratorType,
    IntType,
    LayoutType,
    ListType,
    MemoryFormatType,
    NoneType,
    NumberType,
    OptionalType,
    ScalarTypeType,
    StorageType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)

Cast = Callable[[Any], Any]


class CastError(TypeError):
    """A schema type does not accept a value. The message contains only the reason."""


@cache
def caster(declared: Type) -> Cast:
    """Return the function that casts a value to a schema type.

    Parameters
    ----------
    declared : Type
        `Argument.real_type`, so that a ``ScalarType`` gives a dtype and not an integer.

    Returns
    -------
    callable
        Takes a value and returns what a kernel receives; raises `CastError`. The same type gives
        the same function.
    """
    if isinstance(declared, OptionalType):
        return _optional(caster(declared.elem))
    if isinstance(declared, ListType):
        return _list(declared)
    if isinstance(declared, TupleType):
        return _tuple([caster(elem) for elem in declared.elems])
    if isinstance(declared, DictType):
        return _dict(*[caster(elem) for elem in declared.elems])
    if isinstance(declared, UnionType):
        return _union(declared)
    if isinstance(declared, ClassType):
        return _instance(declared.python_class)
    return _SIMPLE.get(type(declared), _unchanged)


# -- numbers ---------------------------------------------------------------------------------------


def cast_int(value: object) -> int:
    """Cast to a 64-bit int: from bool, NumPy integers and tensors of one element, whose fraction is
    cut off, as in PyTorch; that a list of ints has floats is refused.
    """
    if type(value) is not int:
        value = _to_int(value)
    if not -(2**63) <= value < 2**63:
        raise CastError(f"{shown(value)} does not fit into 64 bits")
    return value


def _to_int(value: object) -> int:
    if hasattr(value, "__index__") and not _has_elements(value):
        return int(value.__index__())
    element = _element(value)
    if isinstance(element, complex):
        raise _unable(value)
    try:
        return int(element)
    except (OverflowError, ValueError) as reason:
        raise CastError(str(reason)) from None


def cast_float(value: object) -> float:
    """Cast to float: from int, bool, NumPy real numbers and tensors of one real element."""
    if type(value) is float:
        return value
    if not isinstance(value, int | float):
        value = _element(value)
    if isinstance(value, complex):
        raise _unable(value)
    try:
        return float(value)
    except OverflowError as reason:
        raise CastError(str(reason)) from None


def cast_complex(value: object) -> complex:
    """Cast to complex: from any number and from tensors of one element."""
    try:
        return complex(value if isinstance(value, int | float | complex) else _element(value))
    except OverflowError as reason:
        raise CastError(str(reason)) from None


def cast_bool(value: object) -> bool:
    """Cast to bool: from any number and from tensors of one element, by truth; None is False, as in
    PyTorch.
    """
    if value is None:
        return False
    return bool(value if isinstance(value, int | float | complex) else _element(value))


def cast_number(value: object) -> int | float | complex:
    """Cast to ``Scalar``: any Python or NumPy number, or array of no dimensions, keeps its kind;
    tensors are refused.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return cast_int(value)
    if isinstance(value, bool | float | complex) and not is_numpy_scalar(value):
        return value
    number = numpy_number(value)
    if number is None:
        raise CastError(f"Cannot cast {shown(value)} to number")
    return number


def _has_elements(value: object) -> bool:
    """Say whether this is a tensor or an array, whose ``__index__`` and ``__float__`` are not to be
    trusted.
    """
    return hasattr(value, "shape") and not is_numpy_scalar(value)


def _element(value: object) -> int | float | complex:
    """Return the one number in a tensor, an array of no dimensions or a NumPy scalar."""
    if (
        isinstance(value, TensorBase)
        or is_numpy_scalar(value)
        or getattr(value, "shape", None) == ()
    ):
        item = getattr(value, "item", None) or getattr(getattr(value, "array", None), "item", None)
        try:
            number = None if item is None else item()
        except (RuntimeError, ValueError, TypeError):
            raise CastError("only a tensor of one element is a number") from None
        if isinstance(number, int | float | complex):
            return number
    raise _unable(value)


# -- other single values ---------------------------------------------------------------------------


def cast_str(value: object) -> str:
    """Cast to str: from bytes in UTF-8."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as reason:
            raise CastError(str(reason)) from None
    raise _unable(value)


def _none(value: object) -> None:
    if value is not None:
        raise _unable(value)


def _unchanged(value: object) -> Any:
    return value


def cast_tensor(value: object) -> TensorBase | None:
    """Accept tensors, and None."""
    if value is None or isinstance(value, TensorBase):
        return value
    raise CastError(f"Unable to cast {shown(value)} to Tensor")


def cast_dtype(value: object) -> dovetail_kernel.dtype:
    """Cast to a dtype: from a type of Python, or PyTorch's code of a dtype."""
    if isinstance(value, dovetail_kernel.dtype):
        return value
    if value.__class__ is type and value in dovetail_kernel.PYTHON_DTYPES:
        return dovetail_kernel.PYTHON_DTYPES[value]
    known = dovetail_kernel.BY_NAME.get(DTYPE_NAMES.get(cast_int(value), ""))
    if known is None:
        raise CastError(f"{shown(value)} is not the code of a known dtype")
    return known


def cast_device(value: object) -> Device:
    """Cast to a device: from its text."""
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return Device(value)
    raise _unable(value)


def _instance(python_class: type) -> Cast:
    def cast_instance(value: object) -> Any:
        if isinstance(value, python_class):
            return value
        raise _unable(value)

    return cast_instance


def _named(*class_names: str) -> Cast:
    """Accept instances of a class of one of these names: what they are is a backend's business."""

    def cast_named(value: object) -> Any:
        if any([base.__name__ in class_names for base in type(value).__mro__]):
            return value
        raise _unable(value)

    return cast_named


def _coded(what: str, names: Sequence[str]) -> Cast:
    """Accept a named value of the kernel, its name, or its code."""

    def cast_coded(value: object) -> Any:
        name = getattr(value, "name", value)
        if not isinstance(name, str):
            code = cast_int(value)
            name = names[code] if 0 <= code < len(names) else ""
        if name not in names:
            raise CastError(f"{shown(value)} is no {what}; the known ones are {', '.join(names)}")
        return getattr(dovetail_kernel, name, name)

    return cast_coded


# -- composed values -------------------------------------------------------------------------------


def _optional(cast: Cast) -> Cast:
    def cast_optional(value: object) -> Any:
        return None if value is None else cast(value)

    return cast_optional


def _list(declared: ListType) -> Cast:
    cast = caster(declared.elem)
    size = declared.size
    repeats = size is not None and isinstance(
        declared.elem.collapsed, IntType | FloatType | BoolType | ComplexType
    )
    takes_tensors = isinstance(declared.elem, TensorType)
    takes_ints = isinstance(declared.elem.collapsed, IntType)

    def cast_list(value: Any) -> list[Any]:
        if isinstance(value, list | tuple):
            elements: Sequence[Any] = value
        elif repeats and isinstance(value, int | float | complex):
            return [cast(value)] * size  # type: ignore[operator]
        elif _is_sequence(value) and not (takes_tensors and hasattr(value, "shape")):
            elements = list(value)
        else:
            raise _unable(value)
        if takes_tensors and any([element is None for element in elements]):
            raise CastError("None is not a Tensor; declare the list Tensor?[] to allow it")
        if takes_ints and any([_is_tensor_of_floats(each) for each in (value, *elements)]):
            raise _unable(value)
        return [cast(element) for element in elements]

    return cast_list


def _is_tensor_of_floats(value: object) -> bool:
    return isinstance(value, TensorBase) and value.is_floating_point()


def _is_sequence(value: object) -> bool:
    if isinstance(value, str | bytes | dict) or getattr(value, "shape", None) == ():
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _tuple(casts: Sequence[Cast]) -> Cast:
    def cast_tuple(value: object) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise _unable(value)
        if len(value) != len(casts):
            raise CastError(
                f"Object contains {len(value)} element(s), but {len(casts)} are expected"
            )
        return tuple([cast(element) for cast, element in zip(casts, value, strict=True)])

    return cast_tuple


def _dict(cast_key: Cast, cast_value: Cast) -> Cast:
    def cast_dict(value: object) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise _unable(value)
        return {cast_key(key): cast_value(element) for key, element in value.items()}

    return cast_dict


def _union(declared: UnionType) -> Cast:
    exact = {
        _PYTHON_CLASSES[type(elem)] for elem in declared.elems if type(elem) in _PYTHON_CLASSES
    }
    casts = [caster(elem) for elem in declared.elems]

    def cast_union(value: object) -> Any:
        if type(value) in exact:
            return value
        for cast in casts:
            try:
                result = cast(value)
            except CastError:
                continue
            if result is not None or value is None:
                return result
        raise _unable(value)

    return cast_union


def _unable(value: object) -> CastError:
    return CastError(f"Unable to cast Python instance of type {type(value)}")


_PYTHON_CLASSES: Final[dict[type[Type], type]] = {
    IntType: int, FloatType: float, BoolType: bool, ComplexType: complex, StringType: str,
    NoneType: type(None),
}  # fmt: skip

_SIMPLE: Final[dict[type[Type], Cast]] = {
    IntType: cast_int,
    SymIntType: cast_int,
    FloatType: cast_float,
    BoolType: cast_bool,
    SymBoolType: cast_bool,
    ComplexType: cast_complex,
    NumberType: cast_number,
    StringType: cast_str,
    NoneType: _none,
    LayoutType: _coded("layout", LAYOUT_NAMES),
    MemoryFormatType: _coded("memory format", MEMORY_FORMAT_NAMES),
    GeneratorType: _named("Generator"),
    StorageType: _named("Storage", "UntypedStorage", "TypedStorage"),
    StreamObjType: _named("Stream"),
    TensorType: cast_tensor,
    ScalarTypeType: cast_dtype,
    DeviceObjType: cast_device,
}
"""Casts that need no parameter. A type without one (``Any``, a type variable) takes every value
unchanged.
"""
