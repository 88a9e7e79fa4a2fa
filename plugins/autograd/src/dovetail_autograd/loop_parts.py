"""The engine's loop over arrays in parts, for code that compiles it: the classes whose slots it
reads, and the functions that it calls where Python goes on.
"""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
