"""Batch normalization, also over several processes."""

import typing as _typing

from . import batch_norms as _batch_norms
from . import lazy_batch_norms as _lazy_batch_norms
from . import sync_batch_norm as _sync_batch_norm
from .batch_norms import *  # noqa: F403
from .batch_norms import _BatchNorm as _BatchNorm
from .batch_norms import _NormBase as _NormBase
from .lazy_batch_norms import *  # noqa: F403
from .lazy_batch_norms import _LazyNormBase as _LazyNormBase
from .sync_batch_norm import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _batch_norms.__all__ + _lazy_batch_norms.__all__ + _sync_batch_norm.__all__
