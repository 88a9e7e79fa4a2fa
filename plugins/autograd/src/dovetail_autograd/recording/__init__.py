"""Recording calls: routes that make a node, the classes of such nodes, and `Function`.

May import `graph`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
