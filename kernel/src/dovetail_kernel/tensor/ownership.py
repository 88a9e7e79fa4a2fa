"""References to arrays and storages: whether anything else would see a change of them.

The only module that counts references. The object in question is an item of a container, and no
variable of the caller holds it, so that the count does not depend on how a Python passes arguments.
"""

from __future__ import annotations

from gc import get_referrers
from sys import getrefcount
from typing import Any, Final

from .storage import Storage
from .tensor_base import TensorBase

_sample: Final = [object()]
_OWN: Final = getrefcount(_sample[0])
"""References to an item that only its container holds, with that of the question."""


def holders(held: Any, key: Any) -> int:
    """Return how many references there are to ``held[key]`` besides that of `held`."""
    return getrefcount(held[key]) - _OWN


def is_shared(held: list[Any], index: int, others: int = 0) -> bool:
    """Return whether the array ``held[index]`` has more than `others` references besides that of
    `held`, or its base has references besides that of the array.
    """
    if holders(held, index) > others:
        return True
    base = [getattr(held[index], "base", None)]
    return base[0] is not None and holders(base, 0) > 1


def has_own_storage(tensor: TensorBase, others: int = 0) -> bool:
    """Return whether the storage of `tensor`, if any, has at most `others` other references."""
    held = [tensor._storage]
    return held[0] is None or holders(held, 0) <= 1 + others


def tensors_on_storage(storage: Storage) -> list[TensorBase]:
    """Return all tensors on `storage`. They are searched among all objects of the process, since a
    storage has no references to its tensors.
    """
    return [
        each
        for each in get_referrers(storage)
        if isinstance(each, TensorBase) and getattr(each, "_storage", None) is storage
    ]
