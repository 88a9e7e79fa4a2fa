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
    """Return whether more than `held` and `others` hold the array ``held[index]``, or anything
    besides that array holds the one that it is a view of.
    """
    if holders(held, index) > others:
        return True
    base = [getattr(held[index], "base", None)]
    return base[0] is not None and holders(base, 0) > 1


def has_own_storage(tensor: TensorBase, others: int = 0) -> bool:
    """Return whether nothing but `tensor` and `others` hold its storage, if it has one."""
    held = [tensor._storage]
    return held[0] is None or holders(held, 0) <= 1 + others


def tensors_on_storage(storage: Storage) -> list[TensorBase]:
    """Return all tensors on `storage`, found among all objects of the process: nothing leads from
    the memory to them.
    """
    return [
        each
        for each in get_referrers(storage)
        if isinstance(each, TensorBase) and getattr(each, "_storage", None) is storage
    ]
