"""Value types that describe elements and tensors: dtypes, layouts, type promotion, and the bits of
a signature.

Imports nothing of the package but `errors` and `sockets`.
"""

from .dtype import BY_BIT, COMPLEX, FLOAT, INT
from .uninitialized import UNINITIALIZED, filler

__all__ = ["BY_BIT", "COMPLEX", "FLOAT", "INT", "UNINITIALIZED", "filler"]
