"""The attributes by which NumPy finds the protocols: ``__array_function__``, ``__array_ufunc__``.

PyTorch's tensors have neither, so tensors whose data NumPy may read behave as if they had none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from ...calling.operands import needs_operator
from .lookups import is_ufunc, take_lookups, without_protocol

__all__ = ["ArrayFunction", "ArrayUfunc"]


class ArrayFunction:
    """Attribute ``__array_function__``: the class has it, and tensors that NumPy cannot read."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return array_function
        return _of_tensor(instance, array_function, "__array_function__")


class ArrayUfunc:
    """Attribute ``__array_ufunc__``: tensors that NumPy cannot read have it, and the class while
    NumPy runs a ufunc.
    """

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            return _of_tensor(instance, array_ufunc, "__array_ufunc__")
        if not is_ufunc(sys._getframe(1), owner):
            raise AttributeError(f"type object '{owner.__name__}' has no '__array_ufunc__'")
        return array_ufunc


def _of_tensor(tensor: Any, function: Any, name: str) -> Any:
    """Return `function` bound to `tensor`; raise AttributeError if NumPy can read it."""
    if not needs_operator(tensor):
        raise AttributeError(
            f"'{type(tensor).__name__}' object has no attribute '{name}': it does not require "
            "grad. NumPy takes it as an array."
        )
    return function.__get__(tensor)


def array_function(
    tensor: Any, func: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Return what NumPy's function `func` gives: computed by operators if NumPy cannot read a
    tensor among the arguments, else by NumPy.

    Raises
    ------
    RuntimeError
        If a tensor requires grad, and there is no operator for `func`.
    TypeError
        For parameters of `func` that its operator lacks.
    """
    if not all([issubclass(each, TensorBase) or each.__module__ == "numpy" for each in types]):
        return NotImplemented  # another library's arrays are asked
    if _any_needs_operator((args, tuple(kwargs.values()))):
        from .functions import call_function  # the table, which few programs need

        return call_function(func, args, kwargs)
    return func._implementation(*args, **kwargs)


def array_ufunc(tensor: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Return what `method` of a ufunc gives: computed by operators if NumPy cannot read a tensor
    among the inputs, else by NumPy.

    Raises
    ------
    RuntimeError
        If a tensor requires grad, and there is no operator for `ufunc`.
    """
    lookups = take_lookups()
    if lookups > 1 or _any_needs_operator(inputs):
        from .ufuncs import call_operator, call_ufunc  # the tables, which few programs need

        made = call_operator(ufunc, method, inputs, lookups) if lookups > 1 else NotImplemented
        if made is NotImplemented:
            made = call_ufunc(ufunc, method, inputs, kwargs)
        if made is not NotImplemented:
            return made
    return without_protocol(getattr(ufunc, method), *inputs, **kwargs)


def _any_needs_operator(values: Any) -> bool:
    return any(
        [
            _any_needs_operator(each)
            if isinstance(each, (tuple, list))
            else isinstance(each, TensorBase) and needs_operator(each)
            for each in values
        ]
    )
