"""The operators of linear algebra that are not functions at the top."""

from ._generated import linalg as _functions
from ._generated.linalg import *  # noqa: F403
from .families.linalg.kernels.matrix_checks import LinAlgError

__all__ = ["LinAlgError"]
__all__ += _functions.__all__
