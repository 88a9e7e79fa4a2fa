"""The classes and variables that the core reads by offsets."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase, VersionCounter, tensor_class
from dovetail_kernel.keys.state import STATE
from dovetail_kernel.types.signature import SCALAR_BITS

from ._core import set_classes

_told: Any = None


def tell_classes() -> None:
    """Tell the core the classes, once they are there, and again when tensors have another class: a
    base library may be imported after the first call of an operator.
    """
    global _told
    if _told is not tensor_class():
        set_classes(TensorBase, tensor_class(), VersionCounter, STATE, SCALAR_BITS)
        _told = tensor_class()
