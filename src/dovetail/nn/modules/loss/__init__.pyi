from .base_losses import _Loss as _Loss
from .base_losses import _WeightedLoss as _WeightedLoss
from .classification_losses import *
from .linear_cross_entropy import *
from .margin_losses import *
from .regression_losses import *
