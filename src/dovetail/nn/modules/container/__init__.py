"""Containers of modules and of parameters."""

import typing as _typing

from . import containers as _containers
from . import parameter_containers as _parameter_containers
from .containers import *  # noqa: F403
from .parameter_containers import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _containers.__all__ + _parameter_containers.__all__
