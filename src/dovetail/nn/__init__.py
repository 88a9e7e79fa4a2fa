"""Neural networks: modules, parameters, losses and initialization, as in ``torch.nn``.

May import ``_nn``, the functions of ``torch._C._nn``, and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
