"""Calls of the kernels of Fourier transforms."""

from __future__ import annotations

from .operands import X, array

_SPECTRUM = array([1 + 2j, 3j, 2], [1, 2j, 0.5], dtype="complex64")

CALLS = {
    "_fft_c2c": (_SPECTRUM, (1,), 0, True),
    "_fft_r2c": (X, (1,), 1, True),
    "_fft_c2r": (_SPECTRUM, (0, 1), 2, 4),
}
