"""`TensorBase` and what it is made of: storage, version counter, size, and the exchange of arrays
by DLPack.

May import `keys` and what lies below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..on_demand import names_on_demand
from .new_tensors import bare_tensor_maker, new_tensor
from .ownership import has_own_storage, holders, is_shared
from .resized_storage import is_resizable, move_storage
from .size import KNOWN_SIZES
from .version import (
    DETACHED,
    DetachedCounter,
    InputCounter,
    InsideCounter,
    WritableCounter,
    detach_version,
    inside_counter,
    is_known_to,
    kernel_writes,
    next_transform,
)

if TYPE_CHECKING:
    from .accessors import compile_accessors
    from .dlpack import BFLOAT, UINT, DlpackSource, change_dtype_code

__all__ = [
    "BFLOAT",
    "DETACHED",
    "KNOWN_SIZES",
    "UINT",
    "DetachedCounter",
    "DlpackSource",
    "InputCounter",
    "InsideCounter",
    "WritableCounter",
    "bare_tensor_maker",
    "change_dtype_code",
    "compile_accessors",
    "detach_version",
    "has_own_storage",
    "holders",
    "inside_counter",
    "is_known_to",
    "is_resizable",
    "is_shared",
    "kernel_writes",
    "move_storage",
    "new_tensor",
    "next_transform",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "accessors": ("compile_accessors",),
        "dlpack": (
            "BFLOAT",
            "DlpackSource",
            "UINT",
            "change_dtype_code",
        ),
    },
)
