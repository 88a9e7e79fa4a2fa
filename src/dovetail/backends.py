"""The tools of authors of backends: an array namespace becomes a device, and the base library
runs on it.

::

    import numpy
    from dovetail.backends import register_backend

    register_backend("loopback", numpy)
    dovetail.ones(3, device="loopback")
"""

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
