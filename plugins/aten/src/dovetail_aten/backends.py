"""The tools for making backends, for plugins and for ``dovetail.backends``; too heavy for programs
that only use tensors.
"""

from .array_kernels import KernelTable
from .array_kernels.capabilities import Capabilities
from .backend.cpu_fallback import use_cpu_fallback
from .backend.device_listing import DeviceType, devices
from .backend.namespace_arrays import NamespaceArrays
from .backend.registration import register_backend
from .composites.replayed_views import View as ReplayedView

__all__ = [
    "Capabilities",
    "DeviceType",
    "KernelTable",
    "NamespaceArrays",
    "ReplayedView",
    "devices",
    "register_backend",
    "use_cpu_fallback",
]
