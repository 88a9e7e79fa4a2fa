"""Functions that tell what a tensor is, or take it off its graph, without an operator.

What they take by `named` are NumPy's names of their arguments: ``numel(x=tensor)``.
"""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable
from dovetail_dispatcher.missing import MISSING
from dovetail_kernel import TensorBase

from ...calling.numpy_calls import numpy_call
from ...calling.signatures import shown_plainly
from ...typing import Tensor


def _checked(function: str, value: object, name: str = "input", position: int = 1) -> Any:
    if value is MISSING:
        raise TypeError(f"{function}() missing required argument '{name}' (position {position})")
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )
    return value


@shown_plainly()
@overridable
def detach_(input: TensorBase = MISSING, **named: Any) -> TensorBase:
    """Detach `input` from its graph in place, and return it."""
    if named:
        return numpy_call(detach_, {"input": input}, MISSING, named)  # type: ignore[no-any-return]
    result: TensorBase = _checked("detach_", input).detach_()
    return result


@shown_plainly()
@overridable
def get_device(input: Tensor = MISSING, **named: Any) -> int:
    """Return the index of the device of `input`; -1 if devices have no index."""
    if named:
        return numpy_call(get_device, {"input": input}, MISSING, named)  # type: ignore[no-any-return]
    index: int = _checked("get_device", input).get_device()
    return index


@shown_plainly()
@overridable
def is_same_size(input: Tensor = MISSING, other: Tensor = MISSING, **named: Any) -> bool:
    """Return whether two tensors have the same shape.

    Raises
    ------
    TypeError
        If one is not a tensor; compare shapes by ``==``.
    """
    if named:
        own = {"input": input, "other": other}
        return numpy_call(is_same_size, own, MISSING, named)  # type: ignore[no-any-return]
    same: bool = _checked("is_same_size", input).is_same_size(
        _checked("is_same_size", other, "other", 2)
    )
    return same


@shown_plainly()
@overridable
def is_signed(input: TensorBase = MISSING, **named: Any) -> bool:
    """Return whether the dtype of `input` is signed."""
    if named:
        return numpy_call(is_signed, {"input": input}, MISSING, named)  # type: ignore[no-any-return]
    result: bool = _checked("is_signed", input).is_signed()
    return result


@shown_plainly()
@overridable
def is_inference(input: TensorBase = MISSING, **named: Any) -> bool:
    """Return whether `input` was created in inference mode."""
    if named:
        return numpy_call(is_inference, {"input": input}, MISSING, named)  # type: ignore[no-any-return]
    result: bool = _checked("is_inference", input).is_inference()
    return result


@shown_plainly()
@overridable
def numel(input: TensorBase = MISSING, **named: Any) -> int:
    """Return the number of elements of `input`."""
    if named:
        return numpy_call(numel, {"input": input}, MISSING, named)  # type: ignore[no-any-return]
    result: int = _checked("numel", input).numel()
    return result
