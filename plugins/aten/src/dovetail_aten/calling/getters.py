"""Functions that are also getters of attributes, and what is done on assignment to such."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from dovetail_dispatcher.schema import is_number
from dovetail_kernel import TensorBase


def getter(function: FunctionType) -> FunctionType:
    """Return a function that does the same, for a property.

    Those that override functions tell an access of the attribute from a call of the function.
    """
    return FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def write_part(whole: Any, part: Any, value: object) -> None:
    """Write a tensor or a number to `part`, a view of the tensor `whole` whose attribute is
    assigned. Raises RuntimeError for the imaginary part of a real tensor, which has no memory, and
    TypeError for anything else.
    """
    if part is not whole and not whole.is_complex():
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes. It is zero: make the "
            "tensor complex."
        )
    if isinstance(value, TensorBase):
        part.copy_(value)
    elif is_number(value):
        part.fill_(value)
    else:
        raise TypeError(
            f"can't assign a {type(value).__name__} to a {part.type()}. Assign a tensor or a "
            "number."
        )
