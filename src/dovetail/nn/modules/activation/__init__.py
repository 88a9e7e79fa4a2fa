"""Activations, and attention with several heads."""

import typing as _typing

from ..linear import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from . import common_activations as _common_activations
from . import multihead_attention as _multihead_attention
from . import rarer_activations as _rarer_activations
from .common_activations import *  # noqa: F403
from .multihead_attention import *  # noqa: F403
from .rarer_activations import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = (
        _common_activations.__all__ + _multihead_attention.__all__ + _rarer_activations.__all__
    )
