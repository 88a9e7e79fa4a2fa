"""What the array kernels of the families stand on, and their tables. Array kernels are written
once against an array namespace; every backend registers them for itself.

They are methods of classes that hold the namespace: see `Family`. They never
write to an argument, never use ``out=`` or item assignment, give optional arguments of the
namespace's functions by keyword, and return new arrays unless their operator is a view. What a
namespace does not offer that way comes from the backend's `Capabilities`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
