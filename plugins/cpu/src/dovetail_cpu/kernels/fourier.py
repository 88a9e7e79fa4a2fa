"""Fourier transforms by the loops behind `scipy.fft`, whose functions are Python that asks for
other backends and checks what is checked here: it takes ten times as long as a small transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Fourier
from dovetail_aten.kernel_support import wrap_dims

_REAL = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_COMPLEX = tuple(map(numpy.dtype, (numpy.complex64, numpy.complex128)))


_MODULES = ("scipy.fft._pocketfft.pypocketfft", "scipy.fft._duccfft.pyduccfft")
"""Where SciPy has had them, until 1.17 and since."""


@cache
def _loops() -> Any:
    """Return the module of SciPy's loops; None where it has another name or takes other arguments
    than it does now.
    """
    return next(filter(_is_as_expected, map(_imported, _MODULES)), None)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _is_as_expected(loops: Any) -> bool:
    x: Any = numpy.arange(4.0)
    try:
        made = loops.r2c(x, (0,), True, 0, None, 1)
        back = loops.c2r(made, (0,), 4, False, 2, None, 1)
        whole = loops.c2c(x, (0,), True, 0, None, 1)
    except (AttributeError, TypeError):
        return False
    return numpy.allclose(back, x) and numpy.allclose(whole[:3], made)


def _axes(x: np.ndarray, dim: Sequence[int], normalization: int) -> tuple[int, ...]:
    """Return the dimensions to transform; none for what `scipy.fft` is to see."""
    if _loops() is None or not (len(dim) and x.size and 0 <= normalization < 3 and x.flags.aligned):
        return ()
    return wrap_dims(tuple(dim), x.ndim)


class FastFourier(Fourier):
    """Transforms of arrays that need no conversion."""

    def fft_c2c(self, x: np.ndarray, dim: Sequence[int], normalization: int, forward: bool) -> Any:
        """Return the transform of complex numbers along `dim`, or the inverse."""
        axes = _axes(x, dim, normalization) if x.dtype in _COMPLEX else ()
        if not axes:
            return Fourier.fft_c2c(self, x, dim, normalization, forward)
        return self.ordered(_loops().c2c(x, axes, forward, normalization, None, 1))

    def fft_r2c(self, x: np.ndarray, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
        """Return the transform of real numbers along `dim`."""
        axes = _axes(x, dim, normalization) if x.dtype in _REAL else ()
        if not axes:
            return Fourier.fft_r2c(self, x, dim, normalization, onesided)
        transform = _loops().r2c if onesided else _loops().c2c
        return self.ordered(transform(x, axes, True, normalization, None, 1))

    def fft_c2r(
        self, x: np.ndarray, dim: Sequence[int], normalization: int, last_dim_size: int
    ) -> Any:
        """Return the real numbers whose frequencies are `x`."""
        axes = _axes(x, dim, normalization) if x.dtype in _COMPLEX else ()
        if not axes or last_dim_size < 1 or x.shape[axes[-1]] != last_dim_size // 2 + 1:
            return Fourier.fft_c2r(self, x, dim, normalization, last_dim_size)
        return self.ordered(_loops().c2r(x, axes, last_dim_size, False, normalization, None, 1))
