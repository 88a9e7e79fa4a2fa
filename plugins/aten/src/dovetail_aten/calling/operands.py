"""What Python's binary operators take beside a tensor, and what they leave to the other operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_dispatcher.interception.overrides import has_override
from dovetail_dispatcher.schema.numbers import is_number
from dovetail_kernel import TensorBase, backend_of_array, wrap

_COMPARISONS = ("eq", "ne")
_OF_TENSORS_ALONE = ("matmul",)


def operate(function: Callable[..., Any], input: Any, other: Any) -> Any:
    """Return ``function(input, other)``, or NotImplemented if `other` is no operand: then Python
    asks it.

    Of NotImplemented, ``==`` would make False. So it compares with arrays itself.
    """
    if _is_operand(other, function):
        return function(input, other)
    if function.__name__ in _COMPARISONS:
        backend = backend_of_array(other)
        if backend is not None and other.dtype in backend.arrays.dtype_bits:
            return function(input, wrap(other, backend))
    return NotImplemented


def reflect(function: Callable[..., Any], other: Any, input: Any) -> Any:
    """Return ``function(other, input)``, or NotImplemented if `other` is no operand."""
    return function(other, input) if _is_operand(other, function) else NotImplemented


def divide_by(function: Callable[..., Any], other: Any, input: Any) -> Any:
    """Return `other` divided by `input`, whose reciprocal `function` makes; NotImplemented if
    `other` is neither an operand nor an array.
    """
    if _is_operand(other, function) or backend_of_array(other) is not None:
        return function(input) * other
    return NotImplemented


def _is_operand(value: Any, function: Callable[..., Any]) -> bool:
    """Return whether `function` takes `value` beside a tensor: a number, a tensor, or what
    overrides functions.
    """
    if isinstance(value, TensorBase) or has_override(value):
        return True
    return is_number(value) and function.__name__ not in _OF_TENSORS_ALONE
