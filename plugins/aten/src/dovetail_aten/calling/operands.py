"""Operands of Python's binary operators beside a tensor: numbers, tensors and arrays.

PyTorch leaves an array on the right to NumPy, and refuses one on the left, in comparisons, and
beside a tensor that requires grad. Here only the first goes to NumPy, with PyTorch's results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import floordiv, lshift, matmul, mod, pow, rshift, sub
from typing import Any, Final

from dovetail_dispatcher.interception import has_override
from dovetail_dispatcher.schema import is_number
from dovetail_kernel import (
    Backend,
    TensorBase,
    backend_of_array,
    dtype,
    float16,
    float32,
    float64,
    is_grad_enabled,
    promote_types,
    wrap,
)
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import WRAPPED_BIT

_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")
_OF_TENSORS_ALONE = ("matmul",)
_UNREADABLE: Final = WRAPPED_BIT | PYTHON_DISPATCH

_SYMMETRIC: Final = {
    "add": "__radd__",
    "mul": "__rmul__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
}
"""Functions behind an operator and its reflected form, and what Python asks the array for."""

_REFLECTED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "rsub": sub,
    "floor_divide": floordiv,
    "remainder_Tensor": mod,
    "pow": pow,
    "bitwise_left_shift": lshift,
    "bitwise_right_shift": rshift,
    "matmul": matmul,
}
"""Functions of an array and a tensor, and the operators that arrays have for them."""


def operate(function: Callable[..., object], input: object, other: Any) -> Any:
    """Return ``function(input, other)``, or NotImplemented if `other` is not an operand, so that
    Python tries its reflected operator.
    """
    if _is_operand(other, function):
        return function(input, other)
    backend = backend_of_operand(other)
    name = function.__name__
    if backend is None or name.endswith("_"):
        return NotImplemented
    if name in _COMPARISONS:
        return function(input, wrap(other, backend))
    if needs_operator(input):
        return function(*promoted(input, wrap(other, backend)))
    if name == "rsub":
        return _by_array(name, other, input, backend)
    return getattr(other, _SYMMETRIC[name])(input) if name in _SYMMETRIC else NotImplemented


def reflect(function: Callable[..., object], other: Any, input: Any) -> Any:
    """Return ``function(other, input)``, or NotImplemented if `other` is not an operand."""
    if _is_operand(other, function):
        return function(other, input)
    backend = backend_of_operand(other)
    if backend is None:
        return NotImplemented
    if needs_operator(input):
        return function(*promoted(wrap(other, backend), input))
    return _by_array(function.__name__, other, input, backend)


def divide_by(function: Callable[..., object], other: Any, input: Any) -> Any:
    """Return `other` divided by `input`, whose reciprocal `function` makes; NotImplemented if
    `other` is neither an operand nor an array.
    """
    if _is_operand(other, function) or backend_of_array(other) is not None:
        return function(input) * other
    return NotImplemented


def backend_of_operand(value: Any) -> Backend | None:
    """Return the backend of an array of a dtype that tensors have; None for anything else."""
    backend = backend_of_array(value)
    return None if backend is None or value.dtype not in backend.arrays.dtype_bits else backend


def _is_operand(value: Any, function: Callable[..., object]) -> bool:
    """Return whether `function` takes `value` beside a tensor: a number, a tensor, or what
    overrides functions. An array of no dimensions is an array, whose dtype counts.
    """
    if isinstance(value, TensorBase) or has_override(value):
        return True
    if function.__name__ in _OF_TENSORS_ALONE or not is_number(value):
        return False
    return isinstance(value, int | float | complex) or backend_of_array(value) is None


def needs_operator(tensor: Any) -> bool:
    """Return whether NumPy cannot compute with the tensor's data without losing a gradient, or the
    samples of a transform, or has none to read: it is a subclass's.
    """
    return bool(tensor._signature & _UNREADABLE or (tensor.requires_grad and is_grad_enabled()))


def promoted(*values: Any) -> Any:
    """Return the tensors in `values` in the dtype that NumPy gives their arrays, as it does for
    tensors that do not require grad: of float32 and int64 it makes float64. Numbers stay.
    """
    tensors = [isinstance(each, TensorBase) for each in values]
    dtypes = {each.dtype for each, found in zip(values, tensors, strict=True) if found}
    if len({each.category for each in dtypes}) > 1:
        dtypes = {_floating(each) for each in dtypes}
    wanted = reduce(promote_types, dtypes)
    return [each.to(wanted) if found else each for each, found in zip(values, tensors, strict=True)]


def _floating(given: dtype) -> dtype:
    """Return the floating dtype that NumPy promotes an integer dtype to, beside a floating one."""
    if given.category != 1:
        return given
    return {1: float16, 2: float32}.get(given.itemsize, float64)


def _by_array(name: str, other: object, input: Any, backend: Backend) -> Any:
    """Return what the array library computes of an array and a tensor's data, as a tensor."""
    made = _REFLECTED[name](other, input.__array__())
    return input.__array_wrap__(backend.arrays.asarray(made))
