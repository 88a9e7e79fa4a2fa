"""Function transforms, as in ``torch.func``: they take a function and return a function, and may be
nested in any order.

May import `nn` and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
