"""Kernels run on the device of their arrays, not on the current one: where there are several."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import cupy
import numpy as np

from .availability import device_count

Function = Callable[..., Any]
_Function = TypeVar("_Function", bound=Function)


def on_device_of_arrays(function: Function) -> Function:
    """Return a function that makes the device of its arrays the current one while it runs; where
    there is one device only, `function` itself.

    Arrays without dimensions may be on another device: they are numbers, and are copied.

    Raises
    ------
    RuntimeError
        By the function returned: if its arrays are on several devices.
    """
    if device_count() < 2 or getattr(function, "between_devices", False):
        return function

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        index = common_device((*args, *kwargs.values()))
        if index is None:
            return function(*args, **kwargs)
        with cupy.cuda.Device(index):
            moved = [_numbers_on(index, value) for value in args]
            named = {name: _numbers_on(index, value) for name, value in kwargs.items()}
            return function(*moved, **named)

    return run


def between_devices(function: _Function) -> _Function:
    """Mark a kernel whose arrays may be on several devices."""
    function.between_devices = True  # type: ignore[attr-defined]
    return function


def common_device(values: Iterable[object]) -> int | None:
    """Return the index of the device that the arrays among `values` are on; None if there are none.
    Raises RuntimeError if they are on several.
    """
    found = number = None
    for value in values:
        if isinstance(value, cupy.ndarray):
            index = value.device.id
            if not value.ndim:
                # A number that was made an array on the way here is on the current device.
                if number is None or index != cupy.cuda.Device().id:
                    number = index
                continue
        elif isinstance(value, list | tuple):
            index = common_device(value)
            if index is None:
                continue
        else:
            continue
        if found is not None and found != index:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:{found} and cuda:{index}! Move one: x.to('cuda:{found}')."
            )
        found = index
    return number if found is None else found


def _numbers_on(index: int, value: object) -> Any:
    if isinstance(value, cupy.ndarray):
        return value if value.ndim or value.device.id == index else value.copy()
    if isinstance(value, list | tuple):
        return type(value)([_numbers_on(index, each) for each in value])
    return value


def single_places(array: Any) -> Any:
    """Return a view of an array that shows each place in memory once, where it was expanded."""
    if 0 not in array.strides:
        return array
    return array[tuple([slice(None) if step else slice(0, 1) for step in array.strides])]


def check_single_places(array: Any) -> None:
    """Raise an error for an expanded array, some of whose elements share memory. Raises ValueError
    in NumPy's words for an array that is not to be written.
    """
    if (
        0 in array.strides
        and array.size
        and any(
            [step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)]
        )
    ):
        raise ValueError("assignment destination is read-only")


def into_single_places(function: Function) -> Function:
    """Return a function that refuses an ``out`` that was expanded, or into which its result does
    not fit, as NumPy's functions do.

    Raises
    ------
    ValueError
        By the function returned, in NumPy's words.
    """

    @wraps(function)
    def run(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            check_single_places(out)
        try:
            return function(*args, out=out, **kwargs)
        except ValueError as error:
            if str(error) != "Out shape is mismatched":
                raise
            shape = np.broadcast_shapes(*[np.shape(each) for each in args])
            raise ValueError(
                f"non-broadcastable output operand with shape {out.shape} doesn't match the "
                f"broadcast shape {shape}"
            ) from None

    return run
