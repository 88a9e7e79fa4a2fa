"""Calls with arguments of a Tensor subclass: results keep the subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import DispatchState, TensorBase
from dovetail_kernel.signature import OVERRIDES

from .operator import Operator


def overriding_route(op: Operator, key: int, _now: DispatchState) -> Callable[..., Any]:
    """Return the route of a call in which a plain Tensor subclass takes part.

    It runs the route of the same call without subclasses, and gives the results the most derived of the subclasses.
    """
    from .routes import route_of

    def route(*args: Any) -> Any:
        classes = [type(t) for t in tensors_in(args) if t._signature & OVERRIDES]
        cls = max(classes, key=lambda c: len(c.__mro__))
        result = route_of(op, key & ~OVERRIDES)(*args)
        inputs = {id(t) for t in tensors_in(args)}
        if isinstance(result, list | tuple):
            return type(result)(_keep(item, cls, inputs) for item in result)
        return _keep(result, cls, inputs)

    return route


def tensors_in(args: tuple[Any, ...]) -> list[TensorBase]:
    """Return the tensors among a call's arguments, also those in lists."""
    found = []
    for arg in args:
        if isinstance(arg, TensorBase):
            found.append(arg)
        elif isinstance(arg, list | tuple):
            found += [item for item in arg if isinstance(item, TensorBase)]
    return found


def _keep(result: Any, cls: type[TensorBase], inputs: set[int]) -> Any:
    """Return `result` as an instance of `cls`, if it is a new tensor: the same slots under another class."""
    if isinstance(result, TensorBase) and id(result) not in inputs and not isinstance(result, cls):
        result.__class__ = cls
        result._signature |= OVERRIDES
    return result
