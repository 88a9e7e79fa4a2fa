"""Layers, losses and containers by PyTorch's paths: ``dovetail.nn.modules.linear.Linear`` is
``dovetail.nn.Linear``.

A path that is a module here has the names of that module; a package has the names of its modules.
"""

import typing as _typing

from . import activation as _activation
from . import adaptive as _adaptive
from . import batchnorm as _batchnorm
from . import channelshuffle as _channelshuffle
from . import container as _container
from . import conv as _conv
from . import distance as _distance
from . import dropout as _dropout
from . import flatten as _flatten
from . import fold as _fold
from . import instancenorm as _instancenorm
from . import lazy as _lazy  # noqa: F401 - by its path
from . import linear as _linear
from . import linear_cross_entropy_options as _linear_cross_entropy_options
from . import loss as _loss
from . import normalization as _normalization
from . import padding as _padding
from . import pixelshuffle as _pixelshuffle
from . import pooling as _pooling
from . import rnn as _rnn
from . import sparse as _sparse
from . import transformer as _transformer
from . import upsampling as _upsampling
from . import utils as _utils  # noqa: F401 - by its path
from .activation import *  # noqa: F403
from .adaptive import *  # noqa: F403
from .batchnorm import *  # noqa: F403
from .channelshuffle import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .flatten import *  # noqa: F403
from .fold import *  # noqa: F403
from .instancenorm import *  # noqa: F403
from .linear import *  # noqa: F403
from .linear_cross_entropy_options import *  # noqa: F403
from .loss import *  # noqa: F403
from .module import Module as Module
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pixelshuffle import *  # noqa: F403
from .pooling import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sparse import *  # noqa: F403
from .transformer import *  # noqa: F403
from .upsampling import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = (
        _activation.__all__
        + _adaptive.__all__
        + _batchnorm.__all__
        + _channelshuffle.__all__
        + _container.__all__
        + _conv.__all__
        + _distance.__all__
        + _dropout.__all__
        + _flatten.__all__
        + _fold.__all__
        + _instancenorm.__all__
        + _linear.__all__
        + _linear_cross_entropy_options.__all__
        + _loss.__all__
        + _normalization.__all__
        + _padding.__all__
        + _pixelshuffle.__all__
        + _pooling.__all__
        + _rnn.__all__
        + _sparse.__all__
        + _transformer.__all__
        + _upsampling.__all__
    )
    __all__ += ["Module"]
