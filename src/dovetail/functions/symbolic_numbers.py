"""The names of PyTorch's symbolic numbers. Sizes are plain numbers here: the classes have no
instances, and the functions compute values.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from dovetail_dispatcher import overridable


class _Symbolic:
    """A class for ``isinstance``, which says no of everything."""

    def __new__(cls, *arguments: Any) -> NoReturn:
        """Raise NotImplementedError: programs are not converted to graphs."""
        raise NotImplementedError(
            f"dovetail.{cls.__name__}: sizes are numbers, since programs are not made into graphs. "
            "Use the number."
        )


class SymInt(_Symbolic):
    """The class of symbolic integers; there are no instances."""


class SymFloat(_Symbolic):
    """The class of symbolic floating-point numbers; there are no instances."""


class SymBool(_Symbolic):
    """The class of symbolic bools; there are no instances."""


@overridable
def sym_int(a: Any) -> int:
    """Return `a` without its fraction."""
    return builtins.int(a)


@overridable
def sym_float(a: Any) -> float:
    """Return `a` as a floating point number."""
    return builtins.float(a)


@overridable
def sym_not(a: object) -> bool:
    """Return whether `a` does not hold."""
    return not a


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; a float if one of them is."""
    return _alike(builtins.max(a, b), a, b)


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; a float if one of them is."""
    return _alike(builtins.min(a, b), a, b)


def _alike(chosen: Any, a: object, b: object) -> Any:
    is_float = isinstance(a, builtins.float) or isinstance(b, builtins.float)
    return builtins.float(chosen) if is_float else chosen


@overridable
def sym_ite(b: object, t: object, f: object) -> Any:
    """Return `t` if `b` holds, else `f`."""
    return t if b else f


@overridable
def sym_sqrt(a: Any) -> float:
    """Return the square root of a number."""
    return math.sqrt(a)


def sym_sum(args: Iterable[object]) -> Any:
    """Return the sum of numbers."""
    return builtins.sum(args)
