"""TF32: products of float32 matrices with factors of 10 bits, on devices that have it."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np
from cupy._core import _routines_linalg as products

_DEFAULT: Final = 1
_TF32: Final = 7
"""CuPy's numbers of how to compute."""
_FIRST_WITH_TF32: Final = 80


def set_tf32(allowed: bool) -> None:
    """Let CuPy compute products of float32 matrices with TF32, or no longer."""
    has_it = int(cupy.cuda.Device().compute_capability) >= _FIRST_WITH_TF32
    products.set_compute_type(np.float32, _TF32 if allowed and has_it else _DEFAULT)
