"""Recurrent networks and their cells."""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
