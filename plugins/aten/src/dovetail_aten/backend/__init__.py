"""Create a backend from an array namespace: arrays, generators, registration, fallback.

May import `kernel_support`.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
