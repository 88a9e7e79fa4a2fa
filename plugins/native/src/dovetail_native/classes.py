"""The classes and variables that the core reads by offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dovetail_dispatcher.interception import OVERRIDABLE, SKIPS, function_modes, refuse_override
from dovetail_kernel import (
    Device,
    DispatchState,
    TensorBase,
    VersionCounter,
    bfloat16,
    get_default_dtype,
    share_storage,
    tensor_class,
)
from dovetail_kernel.devices import STACK
from dovetail_kernel.keys import (
    KNOWN_STATES,
    PYTHON_DISPATCH,
    STATE,
    inference_mode_on,
    torch_function_off,
)
from dovetail_kernel.signature import (
    CPU_BIT,
    DTYPE_MASK,
    GRAD,
    INFERENCE,
    NO_GRAD,
    NORMAL,
    OVERRIDES,
    SCALAR_BITS,
    VIEW,
    WRAPPED_BIT,
    ZERO_DIM,
)
from dovetail_kernel.sockets import DEFAULT_DTYPE
from dovetail_kernel.tensor import KNOWN_SIZES
from dovetail_kernel.types import BY_BIT

from ._core import (
    exchange_api,
    set_attributes,
    set_classes,
    set_default_device,
    set_default_dtype,
    set_overrides,
)

_told: Any = None


def tell_classes() -> None:
    """Tell the core the classes, once they are there, and again when tensors have another class: a
    base library may be imported after the first call of an operator.
    """
    global _told
    if _told is None:
        set_default_device(STACK, Device("cpu"))
        DEFAULT_DTYPE.add(set_default_dtype)
        set_default_dtype(get_default_dtype())
    if _told is not tensor_class():
        set_classes(TensorBase, tensor_class(), VersionCounter, STATE, SCALAR_BITS)
        bits = (CPU_BIT, DTYPE_MASK, GRAD, VIEW, NORMAL, INFERENCE, ZERO_DIM, NO_GRAD)
        types: dict[int, int] = {
            numpy.dtype(each.name).num: bit for bit, each in BY_BIT.items() if each is not bfloat16
        }
        set_attributes(
            KNOWN_SIZES, dict(BY_BIT), types, share_storage, (*bits, inference_mode_on[0])
        )
        _told = tensor_class()


def tell_overrides() -> None:
    """Tell the core how modes and classes override functions."""
    fields = DispatchState._fields
    set_overrides(
        (function_modes.variable, function_modes.seen, function_modes.unseen, SKIPS),
        (
            KNOWN_STATES,
            fields.index("function_modes"),
            fields.index("torch_function"),
            torch_function_off,
            OVERRIDES,
        ),
        refuse_override,
        OVERRIDABLE,
    )


def exchange_capsule(
    from_array: Callable[[Any], Any],
    from_capsule: Callable[[Any], Any],
    to_capsule: Callable[[Any], Any],
    stream_of: Callable[[int, int], int],
) -> Any:
    """Return the capsule of DLPack's C functions for tensors.

    Parameters
    ----------
    from_array
        Returns a tensor around an array of NumPy.
    from_capsule, to_capsule
        Convert tensors that are not plain NumPy arrays.
    stream_of
        Returns the address of the stream that operators use, by DLPack device type and index.
    """
    tell_classes()
    slow = OVERRIDES | PYTHON_DISPATCH | WRAPPED_BIT
    return exchange_api(from_array, from_capsule, to_capsule, stream_of, CPU_BIT, slow, GRAD)
