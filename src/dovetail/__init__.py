"""Dovetail: an operator dispatcher for Python arrays, with PyTorch's model, names and semantics."""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from dovetail_kernel import collection_paused as _collection_paused
from dovetail_kernel import forward_old_places as _forward_old_places

with _collection_paused():
    import dovetail_aten as _aten
from dovetail_aten import *  # noqa: F403 - its public names: the operators, Tensor and what makes tensors
from dovetail_aten import Tensor as Tensor
from dovetail_aten.sockets import ARRAY_NAMESPACE as _ARRAY_NAMESPACE
from dovetail_aten.sockets import TO_SPARSE as _TO_SPARSE
from dovetail_dispatcher.sockets import CHECKS as _CHECK_LOADERS
from dovetail_kernel import plugin_manager as _plugin_manager
from dovetail_kernel import use_overlay as use_overlay
from dovetail_kernel import use_requested_overlays as _use_requested_overlays

from .functions import tensor_functions as _tensor_functions
from .functions.tensor_functions import *  # noqa: F403
from .names import provided_modules as _provided_modules
from .names import reexports as _reexports
from .names.missing import names_of as _names_of
from .names.missing import report_absent_modules as _report_absent_modules
from .names.reexports import *  # noqa: F403

# Type checkers see no __all__ here, and hence every name that comes by a star or as itself.
if _typing.TYPE_CHECKING:
    from dovetail_aten import Generator as Generator
    from dovetail_aten._generated.functions import *  # noqa: F403 - mypy does not see what is added to an __all__
    from dovetail_aten.autocast import autocast as autocast
    from dovetail_aten.autocast import get_autocast_dtype as get_autocast_dtype
    from dovetail_aten.autocast import is_autocast_enabled as is_autocast_enabled
    from dovetail_aten.autocast import set_autocast_dtype as set_autocast_dtype
    from dovetail_aten.autocast import set_autocast_enabled as set_autocast_enabled
    from dovetail_autograd.transforms import vmap as vmap

    from . import _C as _C
    from . import amp as amp
    from . import array_api as array_api
    from . import autograd as autograd
    from . import backends as backends
    from . import compiler as compiler
    from . import cuda as cuda
    from . import distributions as distributions
    from . import fft as fft
    from . import func as func
    from . import hub as hub
    from . import jit as jit
    from . import library as library
    from . import linalg as linalg
    from . import masked as masked
    from . import multiprocessing as multiprocessing
    from . import nn as nn
    from . import optim as optim
    from . import overrides as overrides
    from . import profiler as profiler
    from . import random as random
    from . import serialization as serialization
    from . import signal as signal
    from . import sparse as sparse
    from . import special as special
    from . import testing as testing
    from . import utils as utils
    from .amp import GradScaler as GradScaler
    from .backends import devices as devices
    from .compiler import compile as compile
    from .functions.streams import Event as Event
    from .functions.streams import Stream as Stream
    from .inspection.explanation import explain as explain
    from .inspection.runs.comparison import compare_runs as compare_runs
    from .inspection.traces import trace as trace
    from .inspection.tracing import tracing as tracing
    from .serialization.files import load as load
    from .serialization.files import save as save
    from .torch_imports import as_torch as as_torch

    default_generator: Generator

__version__ = "0.1.0"

_CHECK_LOADERS.add(lambda: _plugin_manager.load_module("testing").op_checks())
_ARRAY_NAMESPACE.fill(lambda: _import_module("dovetail.array_api"))
_TO_SPARSE.fill(
    lambda *args, **kwargs: _import_module("dovetail.sparse.constructors").dense_to_sparse(
        *args, **kwargs
    )
)

_MODULES = (
    "amp",
    "array_api",
    "autograd",
    "backends",
    "compiler",
    "cuda",
    "distributions",
    "fft",
    "func",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "multiprocessing",
    "nn",
    "optim",
    "overrides",
    "profiler",
    "random",
    "signal",
    "sparse",
    "special",
    "testing",
    "utils",
)
_OTHER_MODULES = (
    "__config__",
    "__future__",
    "_C",
    "_dynamo",
    "_higher_order_ops",
    "_nn",
    "_subclasses",
    "_utils",
    "accelerator",
    "cpu",
    "distributed",
    "functional",
    "futures",
    "fx",
    "mps",
    "mtia",
    "onnx",
    "quasirandom",
    "return_types",
    "serialization",
    "storage",
    "torch_version",
    "types",
    "version",
    "xpu",
)
_ELSEWHERE = {
    "GradScaler": "dovetail.amp",
    "are_deterministic_algorithms_enabled": "dovetail.functions.global_settings",
    "as_torch": "dovetail.torch_imports",
    "autocast": "dovetail_aten.autocast",
    "compare_runs": "dovetail.inspection.runs.comparison",
    "compile": "dovetail.compiler",
    "devices": "dovetail.backends",
    "explain": "dovetail.inspection.explanation",
    "get_autocast_dtype": "dovetail_aten.autocast",
    "get_deterministic_debug_mode": "dovetail.functions.global_settings",
    "get_float32_matmul_precision": "dovetail.functions.global_settings",
    "get_num_interop_threads": "dovetail.functions.global_settings",
    "get_num_threads": "dovetail.functions.global_settings",
    "is_autocast_enabled": "dovetail_aten.autocast",
    "is_deterministic_algorithms_warn_only_enabled": "dovetail.functions.global_settings",
    "is_warn_always_enabled": "dovetail.functions.global_settings",
    "load": "dovetail.serialization",
    "save": "dovetail.serialization",
    "set_autocast_dtype": "dovetail_aten.autocast",
    "set_autocast_enabled": "dovetail_aten.autocast",
    "set_default_tensor_type": "dovetail.functions.global_settings",
    "set_deterministic_debug_mode": "dovetail.functions.global_settings",
    "set_float32_matmul_precision": "dovetail.functions.global_settings",
    "set_flush_denormal": "dovetail.functions.global_settings",
    "set_full_tracebacks": "dovetail.functions.global_settings",
    "set_num_interop_threads": "dovetail.functions.global_settings",
    "set_num_threads": "dovetail.functions.global_settings",
    "set_warn_always": "dovetail.functions.global_settings",
    "trace": "dovetail.inspection.traces",
    "tracing": "dovetail.inspection.tracing",
    "use_deterministic_algorithms": "dovetail.functions.global_settings",
    "vmap": "dovetail_autograd.transforms",
}
_ELSEWHERE |= {
    name: "dovetail.amp.deprecated_settings"
    for name in (
        "autocast_decrement_nesting",
        "autocast_increment_nesting",
        "clear_autocast_cache",
        "get_autocast_cpu_dtype",
        "get_autocast_gpu_dtype",
        "is_autocast_cache_enabled",
        "is_autocast_cpu_enabled",
        "set_autocast_cache_enabled",
        "set_autocast_cpu_dtype",
        "set_autocast_cpu_enabled",
        "set_autocast_gpu_dtype",
    )
}
_ELSEWHERE |= {
    name: "dovetail.functions.symbolic_numbers"
    for name in (
        "SymBool",
        "SymFloat",
        "SymInt",
        "sym_float",
        "sym_int",
        "sym_ite",
        "sym_max",
        "sym_min",
        "sym_not",
        "sym_sqrt",
        "sym_sum",
    )
}
_ELSEWHERE |= {
    "Event": "dovetail.functions.streams",
    "AcceleratorError": "dovetail_kernel",
    "OutOfMemoryError": "dovetail.cuda",
    "PyTorchFileReader": "dovetail.serialization.file_reader",
    "ScriptFunction": "dovetail.jit",
    "ScriptModule": "dovetail.jit",
    "Stream": "dovetail.functions.streams",
    "cond": "dovetail.functions.control_flow",
    "fork": "dovetail.jit",
    "wait": "dovetail.jit",
    "while_loop": "dovetail.functions.control_flow",
}
_ELSEWHERE |= {
    name: "dovetail.names.named_dtypes"
    for name in (
        *("chalf", "complex32", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("qint32", "qint8", "quint2x4", "quint4x2", "quint8"),
        *("bit", "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8"),
        *("int1", "int2", "int3", "int4", "int5", "int6", "int7"),
        *("uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"),
    )
}
_ELSEWHERE |= {
    name: "dovetail.functions.rarer_functions"
    for name in (
        "get_device_module",
        "is_distributed",
        "is_vulkan_available",
        "norm_except_dim",
        "range",
        "set_anomaly_enabled",
    )
}
_ELSEWHERE["Future"] = "dovetail.futures"
_ELSEWHERE["sparse_coo_tensor"] = "dovetail.sparse.constructors"
_ELSEWHERE |= {
    f"sparse_{form}_tensor": "dovetail.sparse.compressed" for form in ("compressed", "csr", "csc")
}
_ELSEWHERE |= {name: "dovetail.sparse.matrix_products" for name in ("dsmm", "hspmm", "smm", "spmm")}
_ELSEWHERE["lobpcg"] = "dovetail.functions.lobpcg"
_CHECKS = dict.fromkeys(("_assert", "_assert_async"), "dovetail.functions.condition_checks")
_CHECKS["_segment_reduce"] = "dovetail.functions.rarer_functions"
_CHECKS |= {
    f"_check{kind}": "dovetail.functions.condition_checks"
    for kind in (
        "",
        "_index",
        "_is_size",
        "_not_implemented",
        "_tensor_all",
        "_tensor_all_with",
        "_type",
        "_value",
        "_with",
    )
}
"""Modules, and names and their modules, that are imported when first asked for."""


globals().pop("trace", None)  # the operator's function: that of `inspection` records calls, too

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __all__ = _aten.__all__ + _reexports.__all__ + _tensor_functions.__all__
    __all__ += [*_MODULES, *_ELSEWHERE]  # noqa: PLE0604 - names, which ruff does not follow
    __all__ += ["default_generator", "use_overlay"]

    _OURS = {*_MODULES, *_OTHER_MODULES, *_ELSEWHERE, *_CHECKS}
    _elsewhere = _names_of(__name__, (*_MODULES, *_OTHER_MODULES), _ELSEWHERE | _CHECKS)

    def __getattr__(name: str) -> _typing.Any:
        if name == "default_generator":  # needs the CPU backend
            return _aten.default_generator()
        if name == "torch":  # `torch.torch` is what it is in PyTorch: the package itself
            return _sys.modules[__name__]
        if name.startswith("_foreach_"):
            foreach = _import_module("dovetail.functions.foreach")
            if name in foreach.FOREACH:
                return globals().setdefault(name, foreach.foreach_function(name))
        if name[0] == "_" and name[1:2] != "_":  # `torch._standard_gamma`: an operator's
            operators = _import_module("dovetail_aten.python_modules")
            found = operators.generated_function(name)
            if found is not None:
                return found
        if name not in _OURS and _provided_modules.provides(name):
            return _import_module(f"dovetail.{name}")
        return _elsewhere(name)


_forward_old_places(__name__, f"{__name__}.old_places")
_report_absent_modules()


def __dir__() -> list[str]:
    return sorted({*globals(), *globals()["__all__"], *_OTHER_MODULES})


_use_requested_overlays()  # a plugin may import all that is above
