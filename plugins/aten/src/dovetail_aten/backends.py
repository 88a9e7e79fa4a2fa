"""What backends are made with, for plugins and for ``dovetail.backends``; too heavy for whoever only uses tensors."""

from .array_kernels import KernelTable
from .backend_registration import register_backend
from .capabilities import Capabilities
from .cpu_fallback import use_cpu_fallback
from .device_listing import DeviceType, devices
from .namespace_arrays import NamespaceArrays

__all__ = [
    "Capabilities",
    "DeviceType",
    "KernelTable",
    "NamespaceArrays",
    "devices",
    "register_backend",
    "use_cpu_fallback",
]
