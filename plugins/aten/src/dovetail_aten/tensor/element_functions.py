"""``apply_``, ``map_`` and ``map2_``: Python functions of single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import TensorBase
from dovetail_kernel import bool as bool_

from .._generated import functions as aten
from ..typing import Tensor
from .data.from_data import tensor as make_tensor


def apply_elements(self: Any, callable: Callable[..., object]) -> Any:
    """Replace every element by ``callable(element)``; slow, and only on the cpu. Raises
    RuntimeError for a tensor that requires grad, and TypeError for a tensor on another device, or
    if the function does not return a number.
    """
    return _written("apply_", self, (), callable)


def map_elements(self: Any, other: Tensor, callable: Callable[..., object]) -> Any:
    """Replace every element by ``callable(element, element of other)``; `other` is broadcast.
    Raises RuntimeError or TypeError as for ``apply_``, and if `other` does not broadcast or has
    another dtype or device.
    """
    return _written("map_", self, (other,), callable)


def map2_elements(self: Any, x: Tensor, y: object, callable: Callable[..., object]) -> Any:
    """Replace every element by ``callable(element, element of x, element of y)``; see ``map_``."""
    return _written("map2_", self, (x, y), callable)


def _written(name: str, tensor: Any, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    for position, other in enumerate(others, 1):
        if not isinstance(other, TensorBase):
            raise TypeError(
                f"{name}(): argument {position} must be Tensor, not {type(other).__name__}"
            )
    operands: list[Any] = [tensor, *others]
    if any([operand.requires_grad for operand in operands]):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    if not callable(function):
        raise TypeError(f"{type(function).__name__!r} object is not callable")
    if tensor.device.type not in ("cpu", "meta"):
        raise TypeError(f"{name} is only implemented on CPU tensors. Use cpu() first.")
    for other in others:
        if other.dtype is not tensor.dtype or other.device != tensor.device:
            raise TypeError(
                f"{name}: expected {tensor.type()} for the other tensors (got {other.type()}). "
                "Convert them."
            )
    columns = [operand.expand(tensor.shape).reshape(-1) for operand in operands]
    if tensor.is_meta:
        return tensor
    rows = zip(*[column.tolist() for column in columns], strict=True)
    number = _number_of(tensor.dtype)
    values = [number(function(*row)) for row in rows]
    made: Any = make_tensor(values, dtype=tensor.dtype, device=tensor.device)
    return aten.copy_(tensor, made.reshape(tensor.shape))


def _number_of(kind: Any) -> Callable[[Any], Any]:
    """Return the conversion of what a function returns."""
    if kind is bool_:
        return bool
    convert: Any = complex if kind.is_complex else float if kind.is_floating_point else int

    def converted(value: Any) -> Any:
        is_complex = isinstance(value, complex) and kind.is_complex
        if not is_complex and not hasattr(value, "__float__"):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return convert(value)

    return converted
