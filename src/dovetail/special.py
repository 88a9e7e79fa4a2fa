"""Special functions, as ``torch.special``: gamma, error and Bessel functions, and polynomials."""

from dovetail_aten.special import *  # noqa: F403
from dovetail_aten.special import __all__
