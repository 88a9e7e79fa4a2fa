"""The backend fallbacks that come with the dispatcher, at the keys where PyTorch has one."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DispatchKey, on_new_backend

from . import registry
from .dispatch_errors import missing_kernel_error
from .kernels import BOXED, FALLTHROUGH, Kernel, fallthrough_kernel
from .routes import AUTOGRAD_FALLBACK

_FALLTHROUGH_KEYS = ("BackendSelect", "ADInplaceOrView", "FuncTorchVmapMode", "VmapMode")
_REFUSED_KEYS = (
    *("Meta", "Python", "Functionalize", "Conjugate", "Negative", "ZeroTensor"),
    *("FuncTorchBatched", "FuncTorchGradWrapper", "Tracer", "PythonTLSSnapshot"),
)
_WITHOUT_AUTOGRAD_FALLBACK = ("AutogradHIP", "AutogradVE", "AutogradNestedTensor")


def _refuse(key: DispatchKey) -> Kernel:
    """Return the fallback of a key that only operators with a kernel of their own support."""

    def refuse(op: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise missing_kernel_error(op._operator, key, registry.fallbacks)

    return Kernel(refuse, key, BOXED, registry.BUILT_IN)


def install() -> None:
    """Register the built-in fallbacks, for the backends there are and for those to come."""
    for key in DispatchKey:
        if key.name in _FALLTHROUGH_KEYS or key.name.startswith("Autocast"):
            registry.fallbacks[key] = Kernel(fallthrough_kernel, key, FALLTHROUGH, registry.BUILT_IN)
        elif key.name in _REFUSED_KEYS:
            registry.fallbacks[key] = _refuse(key)
    other = DispatchKey.AutogradOther
    registry.fallbacks[other] = Kernel(_pass_through, other, AUTOGRAD_FALLBACK, registry.BUILT_IN)
    on_new_backend(_add_autograd_fallback)


def _add_autograd_fallback(backend: Any) -> None:
    key = DispatchKey[f"Autograd{backend.key_name}"]
    if key.name not in _WITHOUT_AUTOGRAD_FALLBACK:
        registry.fallbacks[key] = Kernel(_pass_through, key, AUTOGRAD_FALLBACK, registry.BUILT_IN)


def _pass_through(*_args: Any, **_kwargs: Any) -> None:
    """Stand for the Autograd fallback, which is composed and never called."""
