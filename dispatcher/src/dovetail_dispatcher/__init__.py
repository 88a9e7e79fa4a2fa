"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per key, and the
calls between.
"""

from dovetail_kernel import attach_stub, forward_old_places

# At once: modules that fill sockets, and one that gives pickles a name of another module.
from .calls import fallback_kernels as _fallback_kernels
from .calls import ops as _ops  # noqa: F401
from .registration import scoped_library as _scoped  # noqa: F401
from .table.updates import transactions as _transactions  # noqa: F401

__getattr__ = attach_stub(__name__, publishes=True)
_fallback_kernels.install()

forward_old_places(__name__, f"{__name__}.old_places")
