"""Transformers and their layers."""

import typing as _typing

from . import transformer_layers as _transformer_layers
from . import transformers as _transformers
from .transformer_layers import *  # noqa: F403
from .transformers import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _transformer_layers.__all__ + _transformers.__all__
