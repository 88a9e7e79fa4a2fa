"""Functions that are also getters of attributes, and what is done on assignment to such."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from dovetail_dispatcher.calls import EntryForm
from dovetail_dispatcher.schema import is_number
from dovetail_dispatcher.sockets import COMPILED_ENTRY
from dovetail_kernel import TensorBase

from .compiled_entries import described
from .excluded_operators import is_left_out


def getter(function: FunctionType) -> Callable[[Any], Any]:
    """Return a function that does the same, for a property: a compiled entry, where there are such.

    Those that override functions tell an access of the attribute from a call of the function.
    """
    own = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    if not COMPILED_ENTRY.is_filled or is_left_out(function):
        return own

    def form(text: FunctionType) -> EntryForm | None:
        # Of `function`: the code of `text` may ask modes by now. Handlers are left to `text`, since
        # they get the access of the property.
        found = described(function)
        return found._replace(overridden=None) if isinstance(found, EntryForm) else None

    return COMPILED_ENTRY.plug(own, form)


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
