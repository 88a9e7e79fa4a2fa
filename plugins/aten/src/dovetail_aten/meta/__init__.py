"""The meta device: tensors with a shape and no data, and one rule per operator that gives the shape
of its results. Rules of one family lie in its folder; here are those that several share.

May import `backend` and what lies below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .meta_array import MetaArray

__all__ = ["MetaArray"]

__getattr__ = names_on_demand(
    __name__,
    {
        "meta_array": ("MetaArray",),
    },
)
