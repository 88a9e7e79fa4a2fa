"""The operator table: the current registrations of each operator, the revertible changes that made
them, and the dispatch table computed from them.

May import `schema`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
