"""Tools for authors of backends: an array namespace becomes a device on which the base library
runs. The modules are the settings of ``torch.backends``.

::

    import numpy
    from dovetail.backends import register_backend

    register_backend("loopback", numpy)
    dovetail.ones(3, device="loopback")
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
