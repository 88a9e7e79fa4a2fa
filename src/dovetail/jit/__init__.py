"""The names of ``torch.jit``: `trace` records the calls of a function, decorators return the
function unchanged, and functions that need a compiler raise NotImplementedError.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
