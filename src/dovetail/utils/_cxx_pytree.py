"""Nested containers by the name of PyTorch's variant on optree, on which `dovetail.utils._pytree`
stands itself.
"""

from ._pytree import *  # noqa: F403
