"""NumPy's dtypes for Dovetail's: the two tables, with bfloat16 from ml_dtypes."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from dovetail_kernel import DTYPES, bfloat16, dtype

NATIVE_DTYPES: Final[dict[dtype, np.dtype[Any]]] = {
    each: np.dtype(ml_dtypes.bfloat16 if each is bfloat16 else each.name) for each in DTYPES
}
"""Every dtype's native one. Equivalent native dtypes (``np.longlong``, ``np.int64``) are equal and hash alike."""

DTYPES_OF_NATIVE: Final[dict[np.dtype[Any], dtype]] = {native: each for each, native in NATIVE_DTYPES.items()}
"""The way back."""

DTYPE_BITS: Final[dict[np.dtype[Any], int]] = {native: each.bit for each, native in NATIVE_DTYPES.items()}
"""Native dtype to the dtype bit of a signature."""
