from .base_transforms import ComposeTransform as ComposeTransform
from .base_transforms import Transform as Transform
from .base_transforms import _InverseTransform
from .base_transforms import identity_transform as identity_transform
from .elementwise_transforms import AbsTransform as AbsTransform
from .elementwise_transforms import AffineTransform as AffineTransform
from .elementwise_transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from .elementwise_transforms import ExpTransform as ExpTransform
from .elementwise_transforms import PowerTransform as PowerTransform
from .elementwise_transforms import SigmoidTransform as SigmoidTransform
from .elementwise_transforms import SoftplusTransform as SoftplusTransform
from .elementwise_transforms import TanhTransform as TanhTransform
from .elementwise_transforms import _clipped_sigmoid
from .matrix_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from .matrix_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from .matrix_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from .matrix_transforms import SoftmaxTransform as SoftmaxTransform
from .matrix_transforms import StickBreakingTransform as StickBreakingTransform
from .shaped_transforms import CatTransform as CatTransform
from .shaped_transforms import IndependentTransform as IndependentTransform
from .shaped_transforms import ReshapeTransform as ReshapeTransform
from .shaped_transforms import StackTransform as StackTransform
