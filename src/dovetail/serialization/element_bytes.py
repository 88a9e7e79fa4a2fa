"""Conversion between 1-dimensional tensors and bytes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import dovetail_aten as aten
import dovetail_kernel
from dovetail_aten import Tensor
from dovetail_kernel import dtype

from .checked_json import FormatError

_NUMPY_DTYPES = frozenset(
    [
        "bool",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "uint32",
        "int32",
        "uint64",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
# Integers that stand for elements NumPy itself has no type for (bfloat16, 8-bit floats): the bytes
# are the same.
_CARRIERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def bytes_of_line(line: Tensor) -> memoryview:
    """Return the bytes of a 1-dimensional CPU tensor, without a copy if it is contiguous."""
    carried = line if line.dtype.name in _NUMPY_DTYPES else line.view(_carrier(line.dtype))
    return np.ascontiguousarray(carried.numpy()).view(np.uint8).data


def line_of_bytes(data: Any, dtype: dtype) -> Tensor:
    """Return a 1-dimensional CPU tensor of `dtype` with a copy of the bytes.

    Raises
    ------
    FormatError
        If a bool is neither 0 nor 1.
    """
    return line_of_array(np.frombuffer(data, dtype=np.uint8).copy(), dtype)


def line_of_mapped(data: memoryview, dtype: dtype) -> Tensor:
    """Return a 1-dimensional CPU tensor of `dtype` that shows the bytes, which must be writable.

    Raises the errors of `line_of_bytes`.
    """
    return line_of_array(np.frombuffer(data, dtype=np.uint8), dtype)


def line_of_array(data: Any, dtype: dtype, byteorder: str = sys.byteorder) -> Tensor:
    """Return a 1-dimensional CPU tensor of `dtype` on a writable array of bytes, which are first
    converted to the native byte order in place.

    Raises
    ------
    FormatError
        If a bool is neither 0 nor 1.
    """
    if data.ctypes.data % dtype.itemsize:
        data = data.copy()
    if byteorder != sys.byteorder:
        parts = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        data.view(f"u{parts}").byteswap(inplace=True)
    if dtype.name == "bool" and data.size and data.max() > 1:
        raise FormatError("an array of bools has bytes that are neither 0 nor 1")
    if dtype.name in _NUMPY_DTYPES:
        return aten.from_numpy(data.view(dtype.name))
    carried = aten.from_numpy(data.view(_carrier(dtype).name))
    return carried.view(dtype)


def _carrier(wanted: dtype) -> dtype:
    found: dtype = getattr(dovetail_kernel, _CARRIERS[wanted.itemsize])
    return found
