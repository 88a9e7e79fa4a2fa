"""Recurrent networks and their cells."""

import typing as _typing

from . import cells as _cells
from . import network_base as _network_base
from . import networks as _networks
from .cells import *  # noqa: F403
from .network_base import *  # noqa: F403
from .networks import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _cells.__all__ + _network_base.__all__ + _networks.__all__
