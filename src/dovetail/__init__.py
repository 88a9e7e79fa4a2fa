"""Dovetail: an operator dispatcher for Python arrays, with PyTorch's model, names and semantics."""

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING
from typing import Any as _Any

import dovetail_aten as _aten
from dovetail_aten import *  # noqa: F403 - the functions and Tensor; dovetail_aten.__all__ says which
from dovetail_aten import Tensor as Tensor
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
    plugin_manager,
    preserve_format,
    promote_types,
    set_default_device,
    set_default_dtype,
    strided,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dovetail_kernel import Layout as layout
from dovetail_kernel import MemoryFormat as memory_format
from dovetail_kernel import bool as bool

from .questions import broadcast_shapes, is_inference, is_tensor, numel, result_type

if TYPE_CHECKING:
    from dovetail_dispatcher import explain

    from . import _C, autograd, cuda, library, nn, optim
    from .serialization import load, save

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

__version__ = "0.1.0"

use_overlay = plugin_manager.use_overlay
plugin_manager.use_requested_overlays()

__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "PluginError",
    "Size",
    "Tag",
    "autograd",
    "bfloat16",
    "bool",
    "broadcast_shapes",
    "can_cast",
    "cdouble",
    "cfloat",
    "channels_last",
    "channels_last_3d",
    "complex128",
    "complex64",
    "contiguous_format",
    "cuda",
    "device",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "explain",
    "finfo",
    "float",
    "float16",
    "float32",
    "float64",
    "get_default_device",
    "get_default_dtype",
    "half",
    "iinfo",
    "inf",
    "inference_mode",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "layout",
    "library",
    "load",
    "long",
    "memory_format",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "numel",
    "ops",
    "optim",
    "pi",
    "preserve_format",
    "promote_types",
    "result_type",
    "save",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "short",
    "strided",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "use_overlay",
]
__all__ += _aten.__all__

_MODULES = ("_C", "_nn", "autograd", "cuda", "library", "nn", "optim")
_ELSEWHERE = {"explain": "dovetail_dispatcher", "load": "dovetail.serialization", "save": "dovetail.serialization"}
"""Names that are imported when first asked for, and their modules."""


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"dovetail.{name}")
    if name in _ELSEWHERE:
        value = globals()[name] = getattr(_import_module(_ELSEWHERE[name]), name)
        return value
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
