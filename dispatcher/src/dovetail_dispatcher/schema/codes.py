"""The integer codes by which schemas write dtypes, layouts and memory formats, as in PyTorch."""

from __future__ import annotations

from typing import Final

DTYPE_CODES: Final = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6,
    "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "qint8": 12, "quint8": 13,
    "qint32": 14,
    "bfloat16": 15, "quint4x2": 16, "quint2x4": 17, "bits1x8": 18, "bits2x4": 19, "bits4x2": 20,
    "bits8": 21,
    "bits16": 22, "float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25,
    "float8_e4m3fnuz": 26, "uint16": 27,
    "uint32": 28, "uint64": 29, "uint1": 30, "uint2": 31, "uint3": 32, "uint4": 33, "uint5": 34,
    "uint6": 35,
    "uint7": 36, "int1": 37, "int2": 38, "int3": 39, "int4": 40, "int5": 41, "int6": 42, "int7": 43,
    "float8_e8m0fnu": 44, "float4_e2m1fn_x2": 45,
}  # fmt: skip
"""The code of each dtype, by its name."""

DTYPE_NAMES: Final = {code: name for name, code in DTYPE_CODES.items()}
"""The inverse of `DTYPE_CODES`."""

_DTYPE_ALIASES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16",
    "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32",
}  # fmt: skip

CONSTANTS: Final = {"Mean": 1, "contiguous_format": 0, "strided": 0, "float": 6, "long": 4}
"""The names that may stand as the default of any argument."""

DTYPE_CONSTANTS: Final = (
    CONSTANTS | DTYPE_CODES | {alias: DTYPE_CODES[name] for alias, name in _DTYPE_ALIASES.items()}
)
"""The names that may stand as the default of a ``ScalarType`` argument."""

LAYOUT_NAMES: Final = (
    "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc",
    "jagged",
)  # fmt: skip
MEMORY_FORMAT_NAMES: Final = (
    "contiguous_format",
    "preserve_format",
    "channels_last",
    "channels_last_3d",
)
