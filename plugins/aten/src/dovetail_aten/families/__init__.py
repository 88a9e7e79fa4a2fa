"""The operators of the base library, by family: a folder has all of each operator."""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
