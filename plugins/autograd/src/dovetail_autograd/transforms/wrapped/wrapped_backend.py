"""Makes the backend of wrapped tensors at the first transform: nothing of it exists before."""

from __future__ import annotations

from functools import cache
from threading import Lock

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.sockets import GUARD_LAYER
from dovetail_dispatcher.table import BUILT_IN, WRAPPED, add_built_in_fallbacks
from dovetail_kernel import backend_key, renewed_after_fork, wrapped_backend

from ...sockets import WRAPPED_FUNCTION
from .arrays import WrappedArrays
from .captured_writes import guarding_captured
from .wrapped_calls import run_wrapped
from .wrapped_functions import call_wrapped_function

_lock = renewed_after_fork(Lock())


@cache
def install() -> None:
    """Give the wrapped backend its arrays and its kernel, and `Function.apply` its way there,
    once.
    """
    with _lock:
        backend = wrapped_backend()
        if not backend.is_attached:
            backend.attach(WrappedArrays())
            key = backend_key("Dense", backend)
            add_built_in_fallbacks([Kernel(run_wrapped, key, WRAPPED, BUILT_IN)])
            WRAPPED_FUNCTION.fill(call_wrapped_function)
            GUARD_LAYER.fill(guarding_captured)
