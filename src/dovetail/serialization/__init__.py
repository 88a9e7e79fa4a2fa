"""`save` and `load`, as in ``torch.serialization``: tensors and containers in one safetensors
file.
"""

from .files import load, save

__all__ = ["load", "save"]
