"""Functions on tensors by the path ``torch.functional``."""

from .names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
