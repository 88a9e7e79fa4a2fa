"""Names of the kernel, the dispatcher and autograd that are public in `dovetail` too."""

# ruff: noqa: N813 - `device`, `layout` and `memory_format` are classes in PyTorch

from math import e, inf, nan, pi

from dovetail_autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from dovetail_dispatcher import Tag, ops
from dovetail_kernel import Device as device
from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    PluginError,
    Size,
    bfloat16,
    bool,
    can_cast,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_device,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    jagged,
    preserve_format,
    promote_types,
    set_default_device,
    set_default_dtype,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dovetail_kernel import Layout as layout
from dovetail_kernel import MemoryFormat as memory_format

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

__all__ = [
    "DispatchKey", "DispatchKeySet", "PluginError", "Size", "Tag", "bfloat16", "bool", "can_cast",
    "cdouble", "cfloat", "channels_last", "channels_last_3d", "complex64", "complex128",
    "contiguous_format", "device", "double", "dtype", "e", "enable_grad", "finfo", "float",
    "float16", "float32", "float64", "get_default_device", "get_default_dtype", "half", "iinfo",
    "inf", "inference_mode", "int", "int8", "int16", "int32", "int64",
 "is_grad_enabled",
    "is_inference_mode_enabled", "jagged", "layout", "long", "memory_format", "nan", "newaxis",
    "no_grad", "ops", "pi", "preserve_format", "promote_types", "set_default_device",
    "set_default_dtype", "set_grad_enabled", "short", "sparse_bsc", "sparse_bsr", "sparse_coo",
    "sparse_csc", "sparse_csr", "strided", "uint8", "uint16", "uint32", "uint64"
]  # fmt: skip
