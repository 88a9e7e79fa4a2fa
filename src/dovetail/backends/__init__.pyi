from dovetail_aten.backends import Capabilities as Capabilities
from dovetail_aten.backends import DeviceType as DeviceType
from dovetail_aten.backends import KernelTable as KernelTable
from dovetail_aten.backends import NamespaceArrays as NamespaceArrays
from dovetail_aten.backends import devices as devices
from dovetail_aten.backends import register_backend as register_backend
from dovetail_aten.backends import use_cpu_fallback as use_cpu_fallback
from dovetail_kernel import Backend as Backend
from dovetail_kernel import BackendSpec as BackendSpec
from dovetail_kernel import hookimpl as hookimpl

from . import cpu, cuda, cudnn, families, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum
