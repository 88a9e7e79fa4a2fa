"""Functions for few elements: one of SciPy's in the place of several passes of NumPy's.

SciPy's functions take some nanoseconds for each element, passes half a microsecond each. A route
chooses by the size of its argument; what it calls is imported when it is composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeVar

import numpy

from dovetail_aten.array_kernels import Function
from dovetail_kernel import dtype, float32, float64

from .silence import nameless

__all__ = ["ERF", "ERFC", "GELU", "SIGMOID", "SILU", "Few", "few", "few_of"]

_OF_GELU: Final = {
    each: (numpy.array(0.5, each), numpy.array(-math.sqrt(0.5), each))
    for each in map(numpy.dtype, (numpy.float32, numpy.float64))
}
_multiply: Final = numpy.multiply
_Method = TypeVar("_Method", bound=Callable[..., Any])


class Few(NamedTuple):
    """What computes few elements.

    Attributes
    ----------
    load
        Returns the function, of one array.
    name
        What it is made of.
    dtypes
        Those that it computes as accurately as the kernel.
    least
        From how many elements on the kernel itself takes less time.
    """

    load: Callable[[], Function]
    name: str
    least: int
    dtypes: tuple[dtype, ...] = (float32, float64)

    @property
    def note(self) -> str:
        """What is called when, in words."""
        return f"fewer than {self.least} elements by {self.name}"


def few(found: Few) -> Callable[[_Method], _Method]:
    """Let routes call what `found` has for few elements, in the place of a kernel of one array."""

    def mark(kernel: _Method) -> _Method:
        setattr(kernel, "few", found)  # noqa: B010  (a function's type knows no attributes)
        return kernel

    return mark


def few_of(kernel: Function) -> Few | None:
    """Return what computes few elements in the place of a kernel, if it says so."""
    found: Few | None = getattr(kernel, "few", None)
    return found


def _special(name: str) -> Function:
    function: Function = getattr(import_module("scipy.special"), name)
    return function


def _sigmoid() -> Function:
    """Return ``1 / (1 + exp(-x))``."""
    return _special("expit")


def _silu() -> Function:
    """Return ``x * sigmoid(x)``."""
    expit = _special("expit")

    return nameless(lambda x: _multiply(x, expit(x)))


def _erf() -> Function:
    """Return the error function."""
    return _special("erf")


def _erfc() -> Function:
    """Return the complementary error function."""
    return _special("erfc")


def _gelu() -> Function:
    """Return ``x * erfc(-x / sqrt(2)) / 2``, which loses no digits where `x` is negative."""
    erfc = _special("erfc")

    @nameless
    def gelu(x: Any) -> Any:
        half, scale = _OF_GELU[x.dtype]
        return _multiply(_multiply(x, half), erfc(_multiply(x, scale)))

    return gelu


SIGMOID: Final = Few(_sigmoid, "scipy.special.expit", 192)
SILU: Final = Few(_silu, "scipy.special.expit", 192)
ERF: Final = Few(_erf, "scipy.special.erf", 512)
ERFC: Final = Few(_erfc, "scipy.special.erfc", 512, (float32,))
GELU: Final = Few(_gelu, "scipy.special.erfc", 512)
