"""Optimizers and learning rate schedules, as in ``torch.optim``.

May import `nn` and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
