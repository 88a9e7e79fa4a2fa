"""The backend fallbacks that come with the dispatcher, at the keys where PyTorch has one."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Backend, DispatchKey, backend_key, on_new_backend

from ..interception.python_dispatch import python_fallback
from ..table import registry
from ..table.kernels import (
    AUTOGRAD_FALLBACK,
    BOXED,
    FALLTHROUGH,
    PASSED_ON,
    Kernel,
    fallthrough_kernel,
)
from ..table.updates.backend_fallbacks import (
    BUILT_IN,
    add_built_in_fallbacks,
    extend_alias_fallbacks,
)
from .dispatch_errors import missing_kernel_error

_FALLTHROUGH_KEYS = (
    *("BackendSelect", "ADInplaceOrView", "FuncTorchVmapMode", "VmapMode"),
    *("AutocastCPU", "AutocastMTIA", "AutocastMAIA", "AutocastXPU", "AutocastMPS", "AutocastCUDA"),
)
_REFUSED_KEYS = (
    *("Meta", "Functionalize", "FuncTorchDynamicLayerBackMode"),
    *("FuncTorchBatched", "FuncTorchGradWrapper", "Tracer", "FuncTorchDynamicLayerFrontMode"),
    *("Batched", "BatchedNestedTensor", "PreDispatch", "PythonDispatcher"),
)
_PASSED_ON_KEYS = ("Conjugate", "Negative", "ZeroTensor", "PythonTLSSnapshot")
_WITHOUT_AUTOGRAD_FALLBACK = ("HIP", "VE", "IPU", "PrivateUse2", "PrivateUse3")


def _refuse(key: DispatchKey) -> Kernel:
    """Return the fallback of a key that only operators with a kernel of their own support."""

    def refuse(op: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise missing_kernel_error(op._operator, key, registry.fallbacks)

    return Kernel(refuse, key, BOXED, BUILT_IN)


class _PythonFallback(Kernel):
    """The fallback at the key Python, which checks itself what it was given by the handlers."""

    __slots__ = ()

    returns_by_schema = True


def install() -> None:
    """Register the built-in fallbacks, for the backends there are and for those to come."""
    falling = [key for key in DispatchKey if key.name in _FALLTHROUGH_KEYS]
    refused = [key for key in DispatchKey if key.name in _REFUSED_KEYS]
    passed_on = [key for key in DispatchKey if key.name in _PASSED_ON_KEYS]
    add_built_in_fallbacks(
        [
            *[Kernel(fallthrough_kernel, key, FALLTHROUGH, BUILT_IN) for key in falling],
            *[_refuse(key) for key in refused],
            *[Kernel(_pass_through, key, PASSED_ON, BUILT_IN) for key in passed_on],
            _PythonFallback(python_fallback, DispatchKey.Python, BOXED, BUILT_IN),
            _autograd_fallback(DispatchKey.AutogradOther),
        ]
    )
    on_new_backend(_add_fallbacks_of)


def _add_fallbacks_of(backend: Backend) -> None:
    if backend.key_name not in _WITHOUT_AUTOGRAD_FALLBACK:
        add_built_in_fallbacks([_autograd_fallback(backend_key("AutogradFunctionality", backend))])
    extend_alias_fallbacks(backend)


def _autograd_fallback(key: DispatchKey) -> Kernel:
    return Kernel(_pass_through, key, AUTOGRAD_FALLBACK, BUILT_IN)


def _pass_through(*_args: Any, **_kwargs: Any) -> None:
    """Stand for a fallback that is composed and never called."""
