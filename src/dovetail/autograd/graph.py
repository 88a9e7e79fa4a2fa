"""The graph, hooks for saved tensors, and gradient edges, as in ``torch.autograd.graph``; and plans
of backwards.
"""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
