"""Learning rate schedules: each ``step()`` sets the learning rates of an optimizer's groups."""

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
