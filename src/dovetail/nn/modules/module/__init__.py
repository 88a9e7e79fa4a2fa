"""`Module`: its state, hooks and conversions, and hooks of all modules."""

import sys as _sys
import typing as _typing

from . import hooks as _hooks
from . import module_class as _module_class
from .global_tables import GlobalTables as _GlobalTables
from .hooks import *  # noqa: F403
from .hooks import _global_buffer_registration_hooks as _global_buffer_registration_hooks
from .hooks import _global_module_registration_hooks as _global_module_registration_hooks
from .hooks import _global_parameter_registration_hooks as _global_parameter_registration_hooks
from .loading import _IncompatibleKeys as _IncompatibleKeys
from .module_class import *  # noqa: F403
from .module_class import _addindent as _addindent
from .module_class import _forward_unimplemented as _forward_unimplemented
from .state import EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401 - by its path in PyTorch

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = _hooks.__all__ + _module_class.__all__

_sys.modules[__name__].__class__ = _GlobalTables
