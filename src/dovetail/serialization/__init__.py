"""`save` and `load`, as in ``torch.serialization``: tensors and containers in a safetensors file or
in a ``torch.save`` file; `save_file` and `load_file`, as in the safetensors library.

May import `nn`, for parameters, and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub
from .safe_globals import safe_globals as safe_globals  # a class and its module: here at once

__getattr__ = _attach_stub(__name__)
