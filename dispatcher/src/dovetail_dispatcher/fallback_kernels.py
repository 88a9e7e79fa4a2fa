"""The backend fallbacks that come with the dispatcher, at the keys where PyTorch has one."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Backend, DispatchKey, backend_key, on_new_backend

from . import registry
from .dispatch_errors import missing_kernel_error
from .kernels import BOXED, FALLTHROUGH, Kernel, fallthrough_kernel
from .routes import AUTOGRAD_FALLBACK

_FALLTHROUGH_KEYS = (
    *("BackendSelect", "ADInplaceOrView", "FuncTorchVmapMode", "VmapMode"),
    *("AutocastCPU", "AutocastMTIA", "AutocastMAIA", "AutocastXPU", "AutocastMPS", "AutocastCUDA"),
)
_REFUSED_KEYS = (
    *("Meta", "Python", "Functionalize", "Conjugate", "Negative", "ZeroTensor", "FuncTorchDynamicLayerBackMode"),
    *("FuncTorchBatched", "FuncTorchGradWrapper", "Tracer", "PythonTLSSnapshot", "FuncTorchDynamicLayerFrontMode"),
    *("Batched", "BatchedNestedTensor", "PreDispatch", "PythonDispatcher"),
)
_WITHOUT_AUTOGRAD_FALLBACK = ("HIP", "VE", "IPU", "PrivateUse2", "PrivateUse3")


def _refuse(key: DispatchKey) -> Kernel:
    """Return the fallback of a key that only operators with a kernel of their own support."""

    def refuse(op: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise missing_kernel_error(op._operator, key, registry.fallbacks)

    return Kernel(refuse, key, BOXED, registry.BUILT_IN)


def install() -> None:
    """Register the built-in fallbacks, for the backends there are and for those to come."""
    for key in DispatchKey:
        if key.name in _FALLTHROUGH_KEYS:
            registry.fallbacks[key] = Kernel(fallthrough_kernel, key, FALLTHROUGH, registry.BUILT_IN)
        elif key.name in _REFUSED_KEYS:
            registry.fallbacks[key] = _refuse(key)
    other = DispatchKey.AutogradOther
    registry.fallbacks[other] = Kernel(_pass_through, other, AUTOGRAD_FALLBACK, registry.BUILT_IN)
    on_new_backend(_add_autograd_fallback)


def _add_autograd_fallback(backend: Backend) -> None:
    if backend.key_name not in _WITHOUT_AUTOGRAD_FALLBACK:
        key = backend_key("AutogradFunctionality", backend)
        registry.fallbacks[key] = Kernel(_pass_through, key, AUTOGRAD_FALLBACK, registry.BUILT_IN)


def _pass_through(*_args: Any, **_kwargs: Any) -> None:
    """Stand for the Autograd fallback, which is composed and never called."""
