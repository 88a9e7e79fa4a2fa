"""Kernels of compiled functions that write their result into an argument: functions of a library
that ctypes or cffi loaded, of Numba, Cython, nanobind or TVM-FFI.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovetail_aten import Tensor, broadcast_tensors, empty

_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DLTensor(ctypes.Structure):
    """The C struct ``DLTensor`` of DLPack (``dlpack.h``)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )

    @classmethod
    def of_array(cls, array: NDArray[Any]) -> DLTensor:
        """Return the struct for an array; the array must outlive it."""
        sizes = ctypes.c_int64 * max(1, array.ndim)
        steps = [step // array.itemsize for step in array.strides]
        return cls(
            array.ctypes.data,
            1,
            0,
            array.ndim,
            _CODES[array.dtype.kind],
            8 * array.itemsize,
            1,
            sizes(*array.shape),
            sizes(*steps),
            0,
        )


def kernel_with_out(
    function: Callable[..., object],
    *,
    dtypes: Collection[str] = ("float32", "float64"),
    contiguous: bool = True,
    dltensors: bool = False,
) -> Callable[..., Any]:
    """Return a kernel that calls ``function(*operands, out)`` and returns `out`.

    Register the kernel by `Library.array_impl`, or by `Library.impl` for functions that take
    tensors, such as functions of TVM-FFI. The operands are broadcast to one shape, the shape of
    `out`.

    Parameters
    ----------
    function
        Function that writes its result into the last argument; its return value is ignored.
    dtypes
        Names of the dtypes for which it was compiled. All operands and `out` have the same dtype.
    contiguous
        Whether the function requires C order, so that other operands are copied. False: it handles
        strides. `out` is always in C order.
    dltensors
        Whether the function takes pointers to `DLTensor`, as integers, instead of arrays.

    Raises
    ------
    TypeError
        In a call, for operands of an unsupported dtype, or of different dtypes.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def kernel(*operands: Any) -> Any:
        found = {str(each.dtype).rpartition(".")[2] for each in operands}
        if len(found) != 1 or not found <= set(dtypes):
            raise TypeError(
                f"{name}() was compiled for operands of one dtype, {' or '.join(dtypes)}, and got "
                f"{', '.join(sorted(found))}. Convert them, or register it with a condition."
            )
        if isinstance(operands[0], Tensor):
            tensors = broadcast_tensors(*[each.detach() for each in operands])
            made = [each.contiguous() if contiguous else each for each in tensors]
            result: Any = empty(made[0].shape, dtype=made[0].dtype, device=made[0].device)
            function(*made, result)
            return result
        arrays = np.broadcast_arrays(*operands)
        ready = [np.ascontiguousarray(each) if contiguous else each for each in arrays]
        out = np.empty(arrays[0].shape, arrays[0].dtype)
        ready = [each.reshape(out.shape) for each in ready]  # at least one dimension otherwise
        if dltensors:
            described = [DLTensor.of_array(each) for each in (*ready, out)]
            function(*[ctypes.addressof(each) for each in described])
        else:
            function(*ready, out)
        return out

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__module__ = getattr(function, "__module__", None) or __name__
    return kernel
