"""Learning rate schedules: each ``step()`` sets the learning rates of an optimizer's groups."""

import typing as _typing

from ...names.missing import names_of as _names_of
from .combined import ChainedScheduler, SequentialLR
from .cosines import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycles import CyclicLR
from .functions import LambdaLR, MultiplicativeLR
from .one_cycle import OneCycleLR
from .plateau import ReduceLROnPlateau
from .powers import ExponentialLR, MultiStepLR, StepLR
from .ramps import ConstantLR, LinearLR, PolynomialLR
from .scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .scheduler import LRScheduler
from .scheduler import _LRScheduler as _LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
