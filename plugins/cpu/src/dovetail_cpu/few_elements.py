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

from dovetail_aten.kernel_support import Function
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
    name
        Of a function of `scipy.special`, of one array.
    least
        From how many elements on the kernel itself takes less time.
    dtypes
        Those that it computes as accurately as the kernel.
    around
        Returns the function, given that of SciPy; None: it is that of SciPy.
    """

    name: str
    least: int
    dtypes: tuple[dtype, ...] = (float32, float64)
    around: Callable[[Function], Function] | None = None

    def load(self) -> Function:
        """Return the function, of one array."""
        found: Function = getattr(import_module("scipy.special"), self.name)
        return found if self.around is None else self.around(found)

    @property
    def note(self) -> str:
        """What is called when, in words."""
        return f"fewer than {self.least} elements by scipy.special.{self.name}"


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


def _silu(expit: Function) -> Function:
    """Return ``x * sigmoid(x)``."""
    return nameless(lambda x: _multiply(x, expit(x)))


def _gelu(erfc: Function) -> Function:
    """Return ``x * erfc(-x / sqrt(2)) / 2``, which loses no digits where `x` is negative."""

    @nameless
    def gelu(x: Any) -> Any:
        half, scale = _OF_GELU[x.dtype]
        return _multiply(_multiply(x, half), erfc(_multiply(x, scale)))

    return gelu


SIGMOID: Final = Few("expit", 192)
SILU: Final = Few("expit", 192, around=_silu)
ERF: Final = Few("erf", 512)
ERFC: Final = Few("erfc", 512, (float32,))
GELU: Final = Few("erfc", 512, around=_gelu)
