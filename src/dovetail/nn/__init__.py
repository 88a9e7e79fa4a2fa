"""Neural networks: modules, parameters, losses and initial values, as in ``torch.nn``.

May import ``_nn``, which has its operators, and the packages below.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
