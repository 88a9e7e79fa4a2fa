"""The tools of authors of backends: an array namespace becomes a device, and the base library
runs on it. Its modules are the switches of ``torch.backends`` that programs set.

::

    import numpy
    from dovetail.backends import register_backend

    register_backend("loopback", numpy)
    dovetail.ones(3, device="loopback")
"""

import typing as _typing

from dovetail_aten.backends import (
    Capabilities,
    DeviceType,
    KernelTable,
    NamespaceArrays,
    devices,
    register_backend,
    use_cpu_fallback,
)
from dovetail_kernel import Backend, BackendSpec, hookimpl

from ..names.missing import names_of as _names_of

if _typing.TYPE_CHECKING:
    from . import cpu as cpu
    from . import cuda as cuda
    from . import cudnn as cudnn
    from . import families as families
    from . import mha as mha
    from . import mkl as mkl
    from . import mkldnn as mkldnn
    from . import mps as mps
    from . import nnpack as nnpack
    from . import openmp as openmp
    from . import opt_einsum as opt_einsum

_SWITCHES = [
    "families",
    "cpu",
    "cuda",
    "cudnn",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
]

__all__ = [
    "Backend",
    "BackendSpec",
    "Capabilities",
    "DeviceType",
    "KernelTable",
    "NamespaceArrays",
    "devices",
    "hookimpl",
    "register_backend",
    "use_cpu_fallback",
]

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, _SWITCHES)
