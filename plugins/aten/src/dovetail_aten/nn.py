"""The operators of neural networks that are not functions at the top."""

from ._generated.nn import *  # noqa: F403
from .families.attention import composites as _attention

# Which kernels of attention a thread allows; `dovetail.nn.attention` sets it.
_attention_choice = _attention.choice
