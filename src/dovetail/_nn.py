"""The operators of neural networks that are not functions at the top, where PyTorch has
``torch._C._nn``.
"""

from dovetail_aten.nn import *  # noqa: F403
