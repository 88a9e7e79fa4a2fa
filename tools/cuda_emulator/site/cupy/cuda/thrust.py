"""Sorts device memory in the place of CuPy's module of that name: that is compiled device code."""

from __future__ import annotations

import ctypes

import numpy as np

available = True


def _host(address, shape, dtype):
    """Return an array that shows device memory."""
    dtype, count = np.dtype(dtype), int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)


def get_build_version():
    """Return no version of Thrust."""
    return 0


def sort(dtype, data_start, keys_start, shape):
    """Sort along the last dimension."""
    array = _host(data_start, shape, dtype)
    array.sort(-1, kind="stable")


def argsort(dtype, idx_start, data_start, keys_start, shape):
    """Write the places of the sorted elements along the last dimension, and sort them."""
    array, places = _host(data_start, shape, dtype), _host(idx_start, shape, np.intp)
    places[...] = np.argsort(array, -1, kind="stable")
    array[...] = np.take_along_axis(array, places, -1)


def lexsort(dtype, idx_start, keys_start, k, n):
    """Write the places of the columns in the order of their last key, then the one before."""
    _host(idx_start, (n,), np.intp)[...] = np.lexsort(_host(keys_start, (k, n), dtype))
