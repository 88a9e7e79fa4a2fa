"""Memory of arrays: aligned, shared between processes, counted, and borrowed for one call.

May import `parallel`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
