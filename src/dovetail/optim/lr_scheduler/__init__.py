"""Learning rate schedules: each ``step()`` sets the learning rates of an optimizer's groups."""

from ...names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
