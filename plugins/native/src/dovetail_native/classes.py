"""The classes and variables that the core reads by offsets."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase, VersionCounter, tensor_class
from dovetail_kernel.devices.known_devices import KNOWN_DEVICES
from dovetail_kernel.keys.state import STATE
from dovetail_kernel.tensor.size import KNOWN_SIZES
from dovetail_kernel.types.dtype import BY_BIT
from dovetail_kernel.types.signature import DTYPE_MASK, GRAD, NO_GRAD, SCALAR_BITS, VIEW

from ._core import set_attributes, set_classes

_told: Any = None


def tell_classes() -> None:
    """Tell the core the classes, once they are there, and again when tensors have another class: a
    base library may be imported after the first call of an operator.
    """
    global _told
    if _told is not tensor_class():
        set_classes(TensorBase, tensor_class(), VersionCounter, STATE, SCALAR_BITS)
        set_attributes(KNOWN_SIZES, dict(BY_BIT), KNOWN_DEVICES, DTYPE_MASK, GRAD, VIEW, NO_GRAD)
        _told = tensor_class()
