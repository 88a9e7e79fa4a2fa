"""Convolutions, transposed or not."""

import typing as _typing

from . import convolutions as _convolutions
from .convolutions import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _convolutions.__all__
