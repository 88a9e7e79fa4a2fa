"""`TensorBase` and what it is made of: storage, version counter, size, and the exchange of arrays
by DLPack.

May import `keys` and what lies below.
"""

from ..stubs import attach_stub

__getattr__ = attach_stub(__name__)
