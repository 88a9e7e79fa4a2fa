"""The tools of authors of backends: an array namespace becomes a device, and the base library
runs on it. Its modules are the switches of ``torch.backends`` that programs set.

::

    import numpy
    from dovetail.backends import register_backend

    register_backend("loopback", numpy)
    dovetail.ones(3, device="loopback")
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
