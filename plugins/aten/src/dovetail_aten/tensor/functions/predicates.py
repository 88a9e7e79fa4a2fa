"""Functions that tell what a tensor is, or take it off its graph, without an operator.

What they take by `named` are NumPy's names of their arguments: ``numel(x=tensor)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_dispatcher.missing import MISSING
from dovetail_kernel import TensorBase

from ...calling.numpy_calls import numpy_call
from ...calling.signatures import shown_plainly
from ...typing import Tensor


def _asked(function: Callable[..., object], input: object, named: dict[str, object]) -> Any:
    """Return what the method of the name of `function` gives, of a tensor that may be named."""
    if named:
        return numpy_call(function, {"input": input}, MISSING, named)
    name = function.__name__
    return getattr(_checked(name, input), name)()


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
    result: TensorBase = _asked(detach_, input, named)
    return result


@shown_plainly()
@overridable
def get_device(input: Tensor = MISSING, **named: Any) -> int:
    """Return the index of the device of `input`; -1 if devices have no index."""
    index: int = _asked(get_device, input, named)
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
    result: bool = _asked(is_signed, input, named)
    return result


@shown_plainly()
@overridable
def is_inference(input: TensorBase = MISSING, **named: Any) -> bool:
    """Return whether `input` was created in inference mode."""
    result: bool = _asked(is_inference, input, named)
    return result


@shown_plainly()
@overridable
def numel(input: TensorBase = MISSING, **named: Any) -> int:
    """Return the number of elements of `input`."""
    result: int = _asked(numel, input, named)
    return result
