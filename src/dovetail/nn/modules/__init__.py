"""Layers, losses and containers by PyTorch's paths: ``dovetail.nn.modules.linear.Linear`` is
``dovetail.nn.Linear``.

A path that is a module here has the names of that module; a package has the names of its modules.
"""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
