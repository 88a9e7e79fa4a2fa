"""The operators of the base library, by family: each folder contains all parts of its operators."""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
