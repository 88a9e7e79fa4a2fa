"""Plans of calls: of array kernels, of tensor kernels, and of the layers above them.

Its modules, and the printer of plans, are imported with the first route.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
