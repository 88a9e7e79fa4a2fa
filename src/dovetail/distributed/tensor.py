"""The path of `DTensor`, which programs ask whether their tensors are."""

import typing as _typing

from ..names.missing import names_of as _names_of
from ..names.sharded_tensors import DTensor

__all__ = ["DTensor"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
