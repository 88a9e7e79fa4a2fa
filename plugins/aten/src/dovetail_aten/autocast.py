"""Autocast with the base library: importing this module registers the autocast kernels that
operators declare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher import Library, Operator, transaction
from dovetail_dispatcher.registration import (
    autocast_key,
    casting_kernel,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    is_eligible,
    set_autocast_dtype,
    set_autocast_enabled,
    without_autocast,
)
from dovetail_dispatcher.registration.autocast import autocast
from dovetail_dispatcher.table import registry
from dovetail_kernel import float32, promote_types

from ._generated.policies import AUTOCAST

__all__ = [
    "autocast",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

_library = Library("aten", "IMPL")


def _register() -> None:
    """Register the kernels at AutocastCPU and AutocastCUDA."""
    for device_type, policy, operators in AUTOCAST:
        key = autocast_key(device_type).name
        make = _KERNELS[policy]
        for name in operators.split():
            base, _, overload = name.partition(".")
            op = registry.find_or_throw(f"aten::{base}", overload)
            _library.impl(name, make(op, device_type), key)


def _returning_float32(op: Operator, device_type: str) -> Any:
    if all([argument.name != "dtype" for argument in op.schema.arguments]):
        return casting_kernel(op, device_type, float32)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if (
            kwargs.get("dtype") is None
            and _gives_no_dtype(op, args)
            and is_eligible(args[0], device_type)
        ):
            kwargs["dtype"] = float32
        return without_autocast(op, device_type, *args, **kwargs)

    return kernel


def _gives_no_dtype(op: Operator, args: tuple[object, ...]) -> bool:
    position = next(
        iter([i for i, argument in enumerate(op.schema.arguments) if argument.name == "dtype"])
    )
    return len(args) <= position or args[position] is None


def _widest(op: Operator, device_type: str) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [
            each
            for value in (*args, *kwargs.values())
            for each in (value if isinstance(value, list | tuple) else [value])
            if is_eligible(each, device_type)
        ]
        if not tensors:
            return without_autocast(op, device_type, *args, **kwargs)
        widest = tensors[0].dtype
        for tensor in tensors[1:]:
            widest = promote_types(widest, tensor.dtype)
        return casting_kernel(op, device_type, widest)(*args, **kwargs)

    return kernel


_KERNELS: Final[dict[str, Callable[[Operator, str], Any]]] = {
    "lower_precision_fp": lambda op, device_type: casting_kernel(op, device_type, None),
    "fp32": lambda op, device_type: casting_kernel(op, device_type, float32),
    "fp32_set_opt_dtype": _returning_float32,
    "promote": _widest,
}
"""Makers of the kernel of an operator, by PyTorch's name of the policy."""

# In a transaction of its own: the registrations stay if a plugin that imports this fails to load.
with transaction():
    _register()
