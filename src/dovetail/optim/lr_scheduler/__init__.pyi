from .combined import ChainedScheduler as ChainedScheduler
from .combined import SequentialLR as SequentialLR
from .cosines import CosineAnnealingLR as CosineAnnealingLR
from .cosines import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .functions import LambdaLR as LambdaLR
from .functions import MultiplicativeLR as MultiplicativeLR
from .one_cycle import OneCycleLR as OneCycleLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .powers import ExponentialLR as ExponentialLR
from .powers import MultiStepLR as MultiStepLR
from .powers import StepLR as StepLR
from .ramps import ConstantLR as ConstantLR
from .ramps import LinearLR as LinearLR
from .ramps import PolynomialLR as PolynomialLR
from .scheduler import EPOCH_DEPRECATION_WARNING
from .scheduler import LRScheduler as LRScheduler
from .scheduler import _LRScheduler as _LRScheduler
