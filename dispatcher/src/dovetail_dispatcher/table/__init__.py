"""The operator table: what is registered for each operator now, the changes that register it and
can be reverted, and the dispatch table computed from it.

May import `schema`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
