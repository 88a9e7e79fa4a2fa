"""The authors' API: `Library`, `custom_op`, the ``register_*`` functions, batching rules, autocast,
and their checks.

May import `calls` and what lies below.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
