"""Memory of arrays: aligned memory, memory shared between processes, and statistics.

May import `parallel`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
