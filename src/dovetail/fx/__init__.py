"""``dovetail.fx``: programs as graphs that can be read, changed and run."""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
