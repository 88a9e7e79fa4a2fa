"""Transformers and their layers."""

from dovetail_kernel import attach_stub as _attach_stub

from ... import functional as F  # noqa: F401 - copies of its layers import it from here

__getattr__ = _attach_stub(__name__)
