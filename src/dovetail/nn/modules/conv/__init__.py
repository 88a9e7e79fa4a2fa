"""Convolutions, transposed or not."""

import typing as _typing

from . import convolutions as _convolutions
from . import lazy_convolutions as _lazy_convolutions
from .convolutions import *  # noqa: F403
from .convolutions import _ConvNd as _ConvNd
from .convolutions import _ConvTransposeNd as _ConvTransposeNd
from .lazy_convolutions import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _convolutions.__all__ + _lazy_convolutions.__all__
