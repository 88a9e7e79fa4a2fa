"""The array API standard under NumPy's names, with NumPy's order of arguments. What it has not is
computed in host memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any, Final

import array_api_strict as standard
import numpy as np

from dovetail_kernel import backend

from .strict_array import (
    KINDS,
    OF_MASKS,
    REDUCTIONS,
    Array,
    as_numbers,
    masks_as_numbers,
    unwrapped,
    wrapped,
)
from .unwritten_arrays import in_host_memory

__all__ = ["Namespace"]

Function = Callable[..., Any]

STANDARD_NAMES: Final = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bool_": "bool",
    "concatenate": "concat",
    "conjugate": "conj",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "transpose": "permute_dims",
    "true_divide": "divide",
}
"""NumPy's names for functions of the standard."""


def _as_mask(value: Any) -> Any:
    """Return where numbers are not zero, which the standard does not take for true."""
    if isinstance(value, Array) and value.dtype != KINDS["bool"]:
        return value != 0
    return value


def _scan(function: Function) -> Function:
    """Return ``cumulative_sum`` or ``cumulative_prod`` with NumPy's arguments, of bools too."""

    def scan(array: Array, axis: int | None = None, dtype: Any = None) -> Array:
        x = array.astype(KINDS["int64"]) if array.dtype == KINDS["bool"] else array
        return Array(function(x.strict, axis=axis, dtype=unwrapped(dtype)))

    return scan


def _with_numpys_arguments(function: Function) -> Function:
    """Return a function of the standard that takes by place what NumPy's takes so."""
    parameters = inspect.signature(function).parameters.values()
    by_place = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    by_name = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    several = any(each.kind is each.VAR_POSITIONAL for each in parameters)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not several and len(args) > len(by_place):
            kwargs.update(zip(by_name, args[len(by_place) :], strict=False))
            args = args[: len(by_place)]
        given = {
            name: unwrapped(each)
            for name, each in kwargs.items()
            if name != "order" and not (name == "dtype" and each is None)
        }
        if function.__name__.startswith("logical_"):
            args = tuple(map(_as_mask, args))
        elif function.__name__.startswith(OF_NUMBERS):
            args = tuple(map(as_numbers, args))
        elif not function.__name__.startswith(WITHOUT_OPERANDS):
            args = masks_as_numbers(args)
        given_args = unwrapped(args)
        if function.__name__ in OF_MASKS and given_args[0].dtype == standard.bool:
            return wrapped(OF_MASKS[function.__name__](*given_args))
        return wrapped(function(*given_args, **given))

    return call


_NUMPYS_OWN: Final = ("dtype", "lib", "may_share_memory", "ndarray", "random")
"""What is about NumPy's memory and classes."""


OF_NUMBERS: Final = ("arg", "greater", "is", "less")
"""How functions begin that NumPy has for masks as for numbers."""

WITHOUT_OPERANDS: Final = ("broadcast_arrays", "take")
"""How functions begin of whose arrays one is no operand with another: each keeps its dtype."""

IN_HOST_MEMORY: Final = ("isin",)
"""What the standard has for integers alone."""


class Namespace:
    """The names that array kernels use."""

    __name__ = "array_api_strict"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _NUMPYS_OWN:
            raise AttributeError(name)
        if name == "errstate":
            return np.errstate  # what the arrays hold warns as NumPy does
        if name in ("linalg", "fft"):
            return self._package(name)
        name = STANDARD_NAMES.get(name, name)
        if name in KINDS:
            return KINDS[name]
        if name in REDUCTIONS:
            return REDUCTIONS[name]
        if name in ("cumulative_sum", "cumulative_prod"):
            return _scan(getattr(standard, name))
        found = None if name in IN_HOST_MEMORY else getattr(standard, name, None)
        if found is None:
            return self._of_host(getattr(np, name))
        return _with_numpys_arguments(found) if callable(found) else found

    def take(self, array: Array, indices: Array, axis: int | None = None) -> Array:
        """Return elements along an axis; the standard knows indices of one dimension."""
        line = standard.reshape(indices.strict, (-1,))
        taken = standard.take(array.strict, line, axis=axis)
        place = (axis or 0) % max(array.ndim, 1)
        shape = (*array.shape[:place], *indices.shape, *array.shape[place + 1 :])
        return Array(standard.reshape(taken, shape))

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Array:
        """Return an array full of a number, which may be given as an array."""
        number = value.item() if isinstance(value, Array) else value
        return wrapped(standard.full(shape, number, dtype=unwrapped(dtype)))

    def array(self, value: Any, dtype: Any = None, copy: bool = True, order: Any = None) -> Array:
        """Return a new array."""
        return wrapped(standard.asarray(unwrapped(value), dtype=unwrapped(dtype), copy=copy))

    def _package(self, name: str) -> Any:
        of_numpy = getattr(np, name)
        return SimpleNamespace(
            **{each: self._of_host(getattr(of_numpy, each)) for each in of_numpy.__all__}
        )

    def _of_host(self, function: Function) -> Function:
        def compute(*args: Any, **kwargs: Any) -> Any:
            return in_host_memory(function, backend("strict").arrays)(*args, **kwargs)

        return compute
