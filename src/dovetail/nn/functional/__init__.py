"""Functions of neural networks with PyTorch's signatures, each a thin layer over operators."""

from . import activations as _activations
from . import convolutions as _convolutions
from . import dropouts as _dropouts
from . import embeddings as _embeddings
from . import losses as _losses
from . import normalizations as _normalizations
from . import operators as _operators
from . import pooling as _pooling
from . import unpooling as _unpooling
from .activations import *  # noqa: F403
from .convolutions import *  # noqa: F403
from .dropouts import *  # noqa: F403
from .embeddings import *  # noqa: F403
from .losses import *  # noqa: F403
from .normalizations import *  # noqa: F403
from .operators import *  # noqa: F403
from .pooling import *  # noqa: F403
from .unpooling import *  # noqa: F403

__all__: list[str] = []
__all__ += _activations.__all__
__all__ += _convolutions.__all__
__all__ += _dropouts.__all__
__all__ += _embeddings.__all__
__all__ += _losses.__all__
__all__ += _normalizations.__all__
__all__ += _operators.__all__
__all__ += _pooling.__all__
__all__ += _unpooling.__all__

for _module in (
    _activations,
    _convolutions,
    _dropouts,
    _embeddings,
    _losses,
    _normalizations,
    _pooling,
    _unpooling,
):
    for _name in _module.__all__:
        getattr(_module, _name).__module__ = __name__  # what users call them by
