"""CuPy's dtypes for Dovetail's: NumPy's, but for bfloat16, which CuPy does not have."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from dovetail_kernel import DTYPES, bfloat16, dtype


class _NativeDtypes(dict[dtype, Any]):
    def __missing__(self, wanted: dtype) -> NoReturn:
        raise TypeError(
            f"{wanted!r} is not supported on cuda: CuPy has no {wanted.name}. Convert to float16 or float32 first."
        )


NATIVE_DTYPES: Final = _NativeDtypes({each: np.dtype(each.name) for each in DTYPES if each is not bfloat16})
"""Every dtype's native one; asking for bfloat16 raises."""

DTYPES_OF_NATIVE: Final[dict[Any, dtype]] = {native: each for each, native in NATIVE_DTYPES.items()}
"""The way back."""

DTYPE_BITS: Final[dict[Any, int]] = {native: each.bit for each, native in NATIVE_DTYPES.items()}
"""Native dtype to the dtype bit of a signature."""
