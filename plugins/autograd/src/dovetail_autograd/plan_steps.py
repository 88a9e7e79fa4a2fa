"""Kinds of steps of autograd, and the functions that their text calls, for what compiles plans."""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
