"""Dovetail: an operator dispatcher for Python arrays, with PyTorch's model, names and semantics."""

from dovetail_aten import *  # noqa: F403 - the functions and Tensor; dovetail_aten.__all__ says which
from dovetail_aten import Tensor
from dovetail_dispatcher import Tag, _C, explain, ops
from dovetail_kernel import (
    Device as device,
)
from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    Layout as layout,
    MemoryFormat as memory_format,
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
from dovetail_kernel import bool as bool

from . import _nn, autograd, cuda, library  # isort: skip - nn stands on _nn
from . import nn, optim
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .serialization import load, save
from .shapes import broadcast_shapes, is_tensor

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128

__version__ = "0.1.0"

use_overlay = plugin_manager.use_overlay
plugin_manager.use_requested_overlays()
