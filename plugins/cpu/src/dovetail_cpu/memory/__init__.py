"""Memory of arrays: aligned, shared between processes, and counted.

May import `parallel`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
