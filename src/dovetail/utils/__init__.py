"""Checkpointing, exchange and hooks, as ``torch.utils``, and the drawings and explanations of
`inspection`; all of it loads when first asked for.

May import `autograd`, `nn`, `inspection`, `random` and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
