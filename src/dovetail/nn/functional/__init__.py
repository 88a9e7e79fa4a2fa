"""Functions of neural networks with PyTorch's signatures, each a thin layer over operators."""

import typing as _typing

from dovetail_kernel import publish_name as _publish_name

from ...names.missing import names_of as _names_of
from . import activations as _activations
from . import attention as _attention
from . import convolutions as _convolutions
from . import distances as _distances
from . import dropouts as _dropouts
from . import embeddings as _embeddings
from . import losses as _losses
from . import margin_losses as _margin_losses
from . import normalizations as _normalizations
from . import operators as _operators
from . import pooling as _pooling
from . import regression_losses as _regression_losses
from . import resampling as _resampling
from . import unpooling as _unpooling
from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .convolutions import *  # noqa: F403
from .distances import *  # noqa: F403
from .dropouts import *  # noqa: F403
from .embeddings import *  # noqa: F403
from .losses import *  # noqa: F403
from .margin_losses import *  # noqa: F403
from .normalizations import *  # noqa: F403
from .operators import *  # noqa: F403
from .pooling import *  # noqa: F403
from .regression_losses import *  # noqa: F403
from .resampling import *  # noqa: F403
from .unpooling import *  # noqa: F403

__all__: list[str] = []
__all__ += _activations.__all__
__all__ += _attention.__all__
__all__ += _distances.__all__
__all__ += _convolutions.__all__
__all__ += _dropouts.__all__
__all__ += _embeddings.__all__
__all__ += _losses.__all__
__all__ += _margin_losses.__all__
__all__ += _normalizations.__all__
__all__ += _operators.__all__
__all__ += _pooling.__all__
__all__ += _unpooling.__all__
__all__ += _regression_losses.__all__
__all__ += _resampling.__all__

_publish_name(__name__, "logsigmoid", _operators.logsigmoid, called="log_sigmoid")

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, elsewhere={"grad": "dovetail.nn"})
