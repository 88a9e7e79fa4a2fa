"""One call: the entry that checks its arguments, the route composed for its key, and what both run.

May import `testing` and what lies below.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
