"""Pooling, and its inverses."""

import typing as _typing

from . import pooling as _pooling
from . import unpooling as _unpooling
from .pooling import *  # noqa: F403
from .pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from .pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from .pooling import _MaxPoolNd as _MaxPoolNd
from .unpooling import *  # noqa: F403
from .unpooling import _LPPoolNd as _LPPoolNd
from .unpooling import _MaxUnpoolNd as _MaxUnpoolNd

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _pooling.__all__ + _unpooling.__all__
