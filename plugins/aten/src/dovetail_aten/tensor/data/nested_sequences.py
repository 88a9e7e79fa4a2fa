"""Python numbers in nested sequences: their shape, their common dtype, and whether they fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from dovetail_kernel import (
    BY_NAME,
    PYTHON_DTYPES,
    TensorBase,
    dtype,
    get_default_dtype,
    promote_types,
    scalar_category,
    scalar_dtype,
    uint64,
)

from ...kernel_support.operands import check_representable
from .host_arrays import is_host_array

_MOST_DIMENSIONS: Final = 64
"""NumPy's limit."""


def shape_of_data(data: Any) -> tuple[int, ...]:
    """Return the shape that the first items of a nested sequence tell."""
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'. Give numbers.")
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
        if len(shape) > _MOST_DIMENSIONS:
            raise ValueError(
                f"too many dimensions '{type(data).__name__}'. A tensor has {_MOST_DIMENSIONS} at "
                "most, and a list that contains itself is none."
            )
        if isinstance(data, str):
            raise ValueError(f"too many dimensions '{type(data).__name__}'. Give numbers.")
    if is_host_array(data):
        shape += data.shape
        if 0 in shape:  # as for lists, there is nothing inside that has a length
            del shape[shape.index(0) + 1 :]
    return tuple(shape)


def flatten(data: Any, shape: tuple[int, ...], dim: int, numbers: list[Any]) -> None:
    """Append the numbers of a nested sequence to `numbers`, and check that every level has its
    length.
    """
    if dim == len(shape):
        numbers.append(data)
        return
    try:
        length = len(data)
    except TypeError:
        raise TypeError(
            f"not a sequence: {data!r} stands where a sequence of length {shape[dim]} should be"
        ) from None
    if length != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {length})")
    if dim == len(shape) - 1:
        numbers.extend(data)
        return
    for item in data:
        flatten(item, shape, dim + 1, numbers)


def common_dtype(numbers: list[Any], wanted: dtype | None = None) -> tuple[dtype, int]:
    """Return the dtype of flat `numbers`, and their category; anything but Python numbers is
    replaced in the list. The dtype `wanted` decides how tensors of several elements are refused.
    """
    if not numbers:
        return get_default_dtype(), 2
    kinds = set(map(type, numbers))
    if kinds <= PYTHON_DTYPES.keys():
        category = max(PYTHON_DTYPES[kind].category for kind in kinds)
        return scalar_dtype(category), category
    found = _scalar_dtypes(numbers)
    if found is None:
        found = {_as_python(numbers, position, wanted) for position in range(len(numbers))}
    common = reduce(promote_types, sorted(found, key=lambda each: each.name))
    return common, max(each.category for each in found)


def _scalar_dtypes(numbers: list[Any]) -> set[dtype] | None:
    """Return the dtypes of Python numbers and NumPy scalars; None if anything else is among them.

    A class has one dtype then, so that one of its instances tells it.
    """
    found = set()
    for kind, item in {type(each): each for each in numbers}.items():
        if kind in PYTHON_DTYPES:
            found.add(scalar_dtype(PYTHON_DTYPES[kind].category))
        elif isinstance(item, TensorBase) or is_host_array(item):
            return None
        else:
            name = getattr(getattr(item, "dtype", None), "name", "")
            if name not in BY_NAME:
                return None
            found.add(BY_NAME[name])
    return found


def check_numbers(numbers: list[Any], wanted: dtype, category: int) -> bool:
    """Raise an error for numbers that an integer dtype cannot hold. Return whether there are
    integers beyond int64, which other dtypes can.
    """
    if not numbers or (category == 2 and wanted.category != 1):
        return False
    if category == 2:
        if wanted is uint64:
            raise TypeError("an integer is required, not a float: make the tensor, then cast it.")
        for number in numbers:
            check_representable(getattr(number, "item", lambda number=number: number)(), wanted)
        return False
    low, high = min(numbers), max(numbers)
    is_beyond = bool(low < -(1 << 63) or high >= 1 << 63)
    if wanted is uint64:
        if low < 0:
            raise OverflowError(f"can't convert negative int to unsigned: {low}. Add 2**64.")
        if high >= 1 << 64:
            raise OverflowError(f"int too big to convert: {high}. Give floats.")
    elif wanted.category == 1:
        if is_beyond:
            raise ValueError(
                f"Overflow when unpacking long long: {high if high >= 1 << 63 else low} does not "
                "fit into int64. Give floats."
            )
        for number in (low, high):
            check_representable(number, wanted)
    return is_beyond


def _as_python(numbers: list[Any], position: int, wanted: dtype | None) -> dtype:
    """Put a Python number in place of one item, and return the dtype that the item had."""
    item = numbers[position]
    if isinstance(item, TensorBase):
        is_one, target = item.numel() == 1, (wanted or item.dtype).category
        if target < 2 and (not is_one or item.dtype.category > 1):
            raise TypeError(
                "only integer tensors of a single element can be converted to an index. Join "
                "them, and cast: dovetail.stack(...)."
            )
        if not is_one:
            raise ValueError(
                "only one element tensors can be converted to Python scalars. Join them: "
                "dovetail.stack(...)."
            )
        numbers[position] = item.item()  # type: ignore[attr-defined]
        return item.dtype
    for kind, native in PYTHON_DTYPES.items():
        if type(item) is kind:
            return scalar_dtype(native.category)
    name = getattr(getattr(item, "dtype", None), "name", "")
    if name in BY_NAME:
        numbers[position] = item.item()
        return BY_NAME[name]
    if isinstance(item, bool | int | float | complex):
        return scalar_dtype(scalar_category(item))
    if _is_sequence(item) and not isinstance(item, str):
        raise TypeError(
            f"'{type(item).__name__}' object cannot be interpreted as an integer: it stands among "
            "numbers"
        )
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'. Give numbers.")
    raise RuntimeError(f"Could not infer dtype of {type(item).__name__}. Give numbers.")


def _is_sequence(data: Any) -> bool:
    cls = data.__class__
    return (
        cls is list
        or cls is tuple
        or (isinstance(data, Sequence) and not isinstance(data, str | bytes))
        or (
            hasattr(cls, "__getitem__")
            and hasattr(cls, "__len__")
            and not isinstance(data, str | bytes | dict | TensorBase)
            and not is_host_array(data)
        )
    )
