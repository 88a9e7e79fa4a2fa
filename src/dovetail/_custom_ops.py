"""The names of old of `dovetail.library`, for kernels of custom operators without data."""

import typing as _typing

from .library import custom_op, get_ctx
from .library import register_fake as impl_abstract
from .names.missing import names_of as _names_of

__all__ = ["custom_op", "get_ctx", "impl_abstract"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, remedy="Use dovetail.library.")
