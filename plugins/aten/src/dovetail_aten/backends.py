"""The tools to create backends, for plugins and for ``dovetail.backends``. Programs that only use
tensors do not import them.
"""

from .backend.cpu_fallback import use_cpu_fallback
from .backend.device_listing import DeviceType, devices
from .backend.namespace_arrays import NamespaceArrays
from .backend.registration import register_backend
from .composites.replayed_views import View as ReplayedView
from .kernel_support import (
    FAMILIES,
    Capabilities,
    Family,
    KernelTable,
    Numbers,
    Precision,
    family_class,
    wrap_dim,
    wrap_dims,
)
from .kernel_support.family import fitted, helper, operator, rounds_once, widened

__all__ = [
    "FAMILIES",
    "Capabilities",
    "DeviceType",
    "Family",
    "KernelTable",
    "NamespaceArrays",
    "Numbers",
    "Precision",
    "ReplayedView",
    "devices",
    "family_class",
    "fitted",
    "helper",
    "operator",
    "register_backend",
    "rounds_once",
    "use_cpu_fallback",
    "widened",
    "wrap_dim",
    "wrap_dims",
]
