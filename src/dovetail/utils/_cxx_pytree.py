"""Nested containers by the name of PyTorch's variant on optree, which does the same as
`dovetail.utils._pytree` here.
"""

from . import _pytree
from ._pytree import *  # noqa: F403

__all__ = _pytree.__all__
