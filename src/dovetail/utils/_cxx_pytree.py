"""Nested containers by the name of PyTorch's variant on optree, on which `dovetail.utils._pytree`
stands itself.
"""

from ._pytree import *  # noqa: F403
from ._pytree import __all__ as __all__
