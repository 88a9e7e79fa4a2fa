"""Dovetail: an operator dispatcher for Python arrays, with PyTorch's model, names and semantics."""

# ruff: noqa: F405, N813 - the names of the base library come by a star; `device` and `layout` are classes in PyTorch

import typing as _typing
from importlib import import_module as _import_module
from math import e, inf, nan, pi

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
from dovetail_kernel import plugin_manager as _plugin_manager

from .tensor_functions import broadcast_shapes, is_inference, is_tensor, numel, result_type

if _typing.TYPE_CHECKING:
    from dovetail_aten import Generator
    from dovetail_aten._generated.functions import *  # noqa: F403 - mypy does not see what is added to an __all__
    from dovetail_aten.autocast import (
        autocast,
        get_autocast_dtype,
        is_autocast_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
    )
    from dovetail_autograd.transforms import vmap
    from dovetail_dispatcher import explain

    from . import _C as _C
    from . import amp, autograd, backends, cuda, func, library, nn, optim, overrides, random, utils
    from .backends import devices
    from .inspection.tracing import trace
    from .serialization.files import load, save

    default_generator: Generator

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

__version__ = "0.1.0"

use_overlay = _plugin_manager.use_overlay
_plugin_manager.use_requested_overlays()

# fmt: off
__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DispatchKey", "DispatchKeySet",
    "DoubleTensor",
    "FloatTensor", "Generator", "HalfTensor", "IntTensor", "LongTensor", "PluginError",
    "ShortTensor", "Size", "Tag",
    "Tensor", "abs", "abs_", "absolute",
    "acos", "acos_", "acosh", "acosh_", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv",
    "addmv_", "adjoint",
    "all", "allclose", "amax", "amin", "amp", "angle", "any", "arange", "arccos", "arccos_",
    "arccosh", "arccosh_",
    "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan", "arctan2", "arctan_", "arctanh",
    "arctanh_", "argmax",
    "argmin", "argsort", "as_strided", "as_tensor", "asarray", "asin", "asin_", "asinh", "asinh_",
    "atan", "atan2",
    "atan_", "atanh", "atanh_", "autocast", "autograd", "backends", "baddbmm", "bernoulli",
    "bfloat16",
    "binary_cross_entropy_with_logits", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "bmm", "bool",
    "broadcast_shapes", "broadcast_to", "can_cast", "cat", "cdouble", "ceil", "ceil_", "cfloat",
    "channels_last",
    "channels_last_3d", "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min",
    "clamp_min_", "clip",
    "clip_", "clone", "complex64", "complex128", "concat", "concatenate", "conj", "constant_pad_nd",
    "contiguous_format", "cos", "cos_", "cosh", "cosh_", "count_nonzero", "cuda", "cumprod",
    "cumsum",
    "default_generator", "detach", "device", "devices", "diag", "diag_embed", "diagonal", "div",
    "divide", "dot",
    "double", "dropout", "dtype", "e", "einsum", "embedding", "empty", "empty_like",
    "empty_strided", "enable_grad",
    "eq", "equal", "erf", "erf_", "erfc", "erfc_", "exp", "exp2", "exp2_", "exp_", "explain",
    "expm1", "expm1_", "eye",
    "fill_", "finfo", "fix", "fix_", "flatten", "flip", "float", "float16", "float32", "float64",
    "floor", "floor_",
    "floor_divide", "fmod", "frac", "frac_", "from_dlpack", "from_numpy", "full", "full_like",
    "func", "gather", "ge",
    "get_autocast_dtype", "get_default_device", "get_default_dtype", "get_printoptions",
    "get_rng_state", "greater",
    "greater_equal", "gt", "half", "hstack", "hypot", "iinfo", "imag", "index_add", "index_put",
    "index_put_",
    "index_select", "inf", "inference_mode", "initial_seed", "inner", "int", "int8", "int16",
    "int32", "int64",
    "is_autocast_enabled", "is_complex", "is_floating_point", "is_grad_enabled", "is_inference",
    "is_inference_mode_enabled", "is_nonzero", "is_tensor", "isclose", "isfinite", "isinf", "isnan",
    "layer_norm",
    "layout", "le", "lerp", "less", "less_equal", "library", "linspace", "load", "log", "log1p",
    "log1p_", "log2",
    "log2_", "log10", "log10_", "log_", "log_softmax", "logaddexp", "logical_and", "logical_not",
    "logical_or",
    "logical_xor", "logsumexp", "long", "lt", "manual_seed", "masked_fill", "masked_select",
    "matmul", "max",
    "maximum", "mean", "memory_format", "min", "minimum", "mm", "moveaxis", "movedim", "mul",
    "multinomial",
    "multiply", "mv", "nan", "nan_to_num", "nan_to_num_", "narrow", "native_dropout",
    "native_layer_norm", "ne", "neg",
    "neg_", "negative", "negative_", "newaxis", "nn", "no_grad", "nonzero", "norm", "not_equal",
    "numel", "ones",
    "ones_like", "ops", "optim", "outer", "overrides", "permute", "pi", "positive", "pow", "prelu",
    "preserve_format",
    "printoptions", "prod", "promote_types", "rand", "rand_like", "randint", "randint_like",
    "randn", "randn_like",
    "random", "randperm", "real", "reciprocal", "reciprocal_", "relu", "relu_", "remainder",
    "reshape", "resolve_conj",
    "result_type", "roll", "round", "round_", "rsqrt", "rsqrt_", "rsub", "save", "scalar_tensor",
    "scatter",
    "scatter_add", "seed", "select", "set_autocast_dtype", "set_autocast_enabled",
    "set_default_device",
    "set_default_dtype", "set_grad_enabled", "set_printoptions", "set_rng_state", "sgn", "short",
    "sigmoid",
    "sigmoid_", "sign", "sin", "sin_", "sinh", "sinh_", "softmax", "sort", "split",
    "split_with_sizes", "sqrt",
    "sqrt_", "square", "square_", "squeeze", "stack", "std", "strided", "sub", "subtract", "sum",
    "swapaxes",
    "swapdims", "t", "take", "tan", "tan_", "tanh", "tanh_", "tensor", "threshold", "threshold_",
    "tile", "topk",
    "trace", "transpose", "tril", "triu", "true_divide", "trunc", "trunc_", "uint8", "uint16",
    "uint32", "uint64",
    "unbind", "unflatten", "unsqueeze", "use_overlay", "utils", "var", "vdot", "view_as_complex",
    "view_as_real",
    "vmap", "vstack", "where", "xlogy", "xlogy_", "zero_", "zeros", "zeros_like",
]
# fmt: on

for _method in set(_aten.__all__).difference(__all__):  # in place, and in PyTorch methods only
    del globals()[_method]

_MODULES = (
    "_C",
    "_nn",
    "amp",
    "autograd",
    "backends",
    "cuda",
    "func",
    "library",
    "nn",
    "optim",
    "overrides",
    "random",
    "return_types",
    "utils",
)
_ELSEWHERE = {
    "autocast": "dovetail_aten.autocast",
    "devices": "dovetail.backends",
    "explain": "dovetail_dispatcher",
    "get_autocast_dtype": "dovetail_aten.autocast",
    "is_autocast_enabled": "dovetail_aten.autocast",
    "load": "dovetail.serialization",
    "save": "dovetail.serialization",
    "set_autocast_dtype": "dovetail_aten.autocast",
    "set_autocast_enabled": "dovetail_aten.autocast",
    "trace": "dovetail.inspection.tracing",
    "vmap": "dovetail_autograd.transforms",
}
"""Modules, and names and their modules, that are imported when first asked for."""


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> _typing.Any:
        if name in _MODULES:
            return _import_module(f"dovetail.{name}")
        if name in _ELSEWHERE:
            value = globals()[name] = getattr(_import_module(_ELSEWHERE[name]), name)
            return value
        if name == "default_generator":  # needs the CPU backend
            return _aten.default_generator()
        raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
