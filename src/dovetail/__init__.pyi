# The operators first: functions of the base library that prepare their arguments replace some.
# isort: off
from dovetail_aten._generated.functions import *

# isort: on
from dovetail_aten import *
from dovetail_aten import Generator as Generator
from dovetail_aten import Tensor as Tensor
from dovetail_aten.autocast import autocast as autocast
from dovetail_aten.autocast import get_autocast_dtype as get_autocast_dtype
from dovetail_aten.autocast import is_autocast_enabled as is_autocast_enabled
from dovetail_aten.autocast import set_autocast_dtype as set_autocast_dtype
from dovetail_aten.autocast import set_autocast_enabled as set_autocast_enabled
from dovetail_autograd import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from dovetail_autograd import is_anomaly_enabled as is_anomaly_enabled
from dovetail_autograd.transforms import vmap as vmap
from dovetail_kernel import AcceleratorError as AcceleratorError
from dovetail_kernel import is_warn_always_enabled as is_warn_always_enabled
from dovetail_kernel import set_full_tracebacks as set_full_tracebacks
from dovetail_kernel import set_warn_always as set_warn_always

from . import (
    _C,
    __config__,
    __future__,
    _dynamo,
    _higher_order_ops,
    _nn,
    _subclasses,
    _utils,
    _vmap_internals,
    accelerator,
    cpu,
    distributed,
    functional,
    futures,
    fx,
    mps,
    mtia,
    onnx,
    quasirandom,
    return_types,
    serialization,
    storage,
    torch_version,
    types,
    version,
    xpu,
)
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
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import testing as testing
from . import utils as utils
from ._C import has_lapack as has_lapack
from ._C import has_mkl as has_mkl
from ._C import has_openmp as has_openmp
from ._C import has_spectral as has_spectral
from ._C.queries import qscheme as qscheme
from .amp import GradScaler as GradScaler
from .amp.deprecated_settings import autocast_decrement_nesting as autocast_decrement_nesting
from .amp.deprecated_settings import autocast_increment_nesting as autocast_increment_nesting
from .amp.deprecated_settings import clear_autocast_cache as clear_autocast_cache
from .amp.deprecated_settings import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.deprecated_settings import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .amp.deprecated_settings import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.deprecated_settings import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.deprecated_settings import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.deprecated_settings import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp.deprecated_settings import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.deprecated_settings import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from .backends import devices as devices
from .compiler import compile as compile
from .cuda import OutOfMemoryError as OutOfMemoryError
from .functions.condition_checks import (
    _assert,
    _assert_async,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from .functions.control_flow import cond as cond
from .functions.control_flow import while_loop as while_loop
from .functions.fake_quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from .functions.fake_quantization import (
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
)
from .functions.global_settings import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from .functions.global_settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from .functions.global_settings import get_float32_matmul_precision as get_float32_matmul_precision
from .functions.global_settings import get_num_interop_threads as get_num_interop_threads
from .functions.global_settings import get_num_threads as get_num_threads
from .functions.global_settings import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from .functions.global_settings import set_default_tensor_type as set_default_tensor_type
from .functions.global_settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from .functions.global_settings import set_float32_matmul_precision as set_float32_matmul_precision
from .functions.global_settings import set_flush_denormal as set_flush_denormal
from .functions.global_settings import set_num_interop_threads as set_num_interop_threads
from .functions.global_settings import set_num_threads as set_num_threads
from .functions.global_settings import use_deterministic_algorithms as use_deterministic_algorithms
from .functions.hashes import hash_tensor as hash_tensor
from .functions.lobpcg import lobpcg as lobpcg
from .functions.rarer_functions import _segment_reduce
from .functions.rarer_functions import get_device_module as get_device_module
from .functions.rarer_functions import is_distributed as is_distributed
from .functions.rarer_functions import is_vulkan_available as is_vulkan_available
from .functions.rarer_functions import norm_except_dim as norm_except_dim
from .functions.rarer_functions import range as range
from .functions.rarer_functions import set_anomaly_enabled as set_anomaly_enabled
from .functions.streams import Event as Event
from .functions.streams import Stream as Stream
from .functions.symbolic_numbers import SymBool as SymBool
from .functions.symbolic_numbers import SymFloat as SymFloat
from .functions.symbolic_numbers import SymInt as SymInt
from .functions.symbolic_numbers import sym_float as sym_float
from .functions.symbolic_numbers import sym_int as sym_int
from .functions.symbolic_numbers import sym_ite as sym_ite
from .functions.symbolic_numbers import sym_max as sym_max
from .functions.symbolic_numbers import sym_min as sym_min
from .functions.symbolic_numbers import sym_not as sym_not
from .functions.symbolic_numbers import sym_sqrt as sym_sqrt
from .functions.symbolic_numbers import sym_sum as sym_sum
from .functions.tensor_functions import *
from .futures import Future as Future
from .inspection.explanation import explain as explain
from .inspection.runs.comparison import compare_runs as compare_runs
from .inspection.traces import trace as trace
from .inspection.tracing import tracing as tracing
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from .jit import fork as fork
from .jit import wait as wait
from .names.named_dtypes import bit as bit
from .names.named_dtypes import bits1x8 as bits1x8
from .names.named_dtypes import bits2x4 as bits2x4
from .names.named_dtypes import bits4x2 as bits4x2
from .names.named_dtypes import bits8 as bits8
from .names.named_dtypes import bits16 as bits16
from .names.named_dtypes import chalf as chalf
from .names.named_dtypes import complex32 as complex32
from .names.named_dtypes import float4_e2m1fn_x2 as float4_e2m1fn_x2
from .names.named_dtypes import float8_e4m3fn as float8_e4m3fn
from .names.named_dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from .names.named_dtypes import float8_e5m2 as float8_e5m2
from .names.named_dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from .names.named_dtypes import float8_e8m0fnu as float8_e8m0fnu
from .names.named_dtypes import int1 as int1
from .names.named_dtypes import int2 as int2
from .names.named_dtypes import int3 as int3
from .names.named_dtypes import int4 as int4
from .names.named_dtypes import int5 as int5
from .names.named_dtypes import int6 as int6
from .names.named_dtypes import int7 as int7
from .names.named_dtypes import qint8 as qint8
from .names.named_dtypes import qint32 as qint32
from .names.named_dtypes import quint2x4 as quint2x4
from .names.named_dtypes import quint4x2 as quint4x2
from .names.named_dtypes import quint8 as quint8
from .names.named_dtypes import uint1 as uint1
from .names.named_dtypes import uint2 as uint2
from .names.named_dtypes import uint3 as uint3
from .names.named_dtypes import uint4 as uint4
from .names.named_dtypes import uint5 as uint5
from .names.named_dtypes import uint6 as uint6
from .names.named_dtypes import uint7 as uint7
from .names.reexports import *
from .serialization import load as load
from .serialization import save as save
from .serialization.file_reader import PyTorchFileReader as PyTorchFileReader
from .sparse.compressed import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse.compressed import sparse_csc_tensor as sparse_csc_tensor
from .sparse.compressed import sparse_csr_tensor as sparse_csr_tensor
from .sparse.constructors import sparse_coo_tensor as sparse_coo_tensor
from .sparse.matrix_products import dsmm as dsmm
from .sparse.matrix_products import hsmm as hsmm
from .sparse.matrix_products import hspmm as hspmm
from .sparse.matrix_products import saddmm as saddmm
from .sparse.matrix_products import smm as smm
from .sparse.matrix_products import spmm as spmm
from .sparse.matrix_products import sspaddmm as sspaddmm
from .torch_imports import as_torch as as_torch

__version__: str
default_generator: Generator
