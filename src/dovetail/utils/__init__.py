"""Checkpointing, data exchange and hooks, as in ``torch.utils``, and the drawings and explanations
of `inspection`. Modules are imported on first access.

May import `autograd`, `nn`, `inspection`, `random` and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
