"""`save` and `load`, as in ``torch.serialization``: tensors and containers in one safetensors
file.

May import `nn`, for parameters, and the packages below.
"""

from .files import load, save

__all__ = ["load", "save"]
