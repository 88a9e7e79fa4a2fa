"""Losses: of classes, of numbers, of margins."""

import typing as _typing

from . import classification_losses as _classification_losses
from . import linear_cross_entropy as _linear_cross_entropy
from . import margin_losses as _margin_losses
from . import regression_losses as _regression_losses
from .base_losses import _Loss as _Loss
from .base_losses import _WeightedLoss as _WeightedLoss
from .classification_losses import *  # noqa: F403
from .linear_cross_entropy import *  # noqa: F403
from .margin_losses import *  # noqa: F403
from .regression_losses import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = (
        _classification_losses.__all__
        + _linear_cross_entropy.__all__
        + _margin_losses.__all__
        + _regression_losses.__all__
    )
