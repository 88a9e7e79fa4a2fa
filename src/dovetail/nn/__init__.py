"""Neural networks: modules, parameters, losses and initial values, as in ``torch.nn``.

May import ``_nn``, which has its operators, and the packages below.
"""

import typing as _typing

from ..names.missing import names_of as _names_of
from . import common_types as common_types
from . import functional as functional
from . import grad as grad
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .factory import factory_kwargs as factory_kwargs
from .modules import *  # noqa: F403
from .modules.module import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from .modules.module import register_module_forward_hook as register_module_forward_hook
from .modules.module import register_module_forward_pre_hook as register_module_forward_pre_hook
from .modules.module import register_module_full_backward_hook as register_module_full_backward_hook
from .modules.module import (
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
)
from .modules.module import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from .modules.module import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from .modules.module.hooks import RemovableHandle as RemovableHandle
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter

if _typing.TYPE_CHECKING:
    from . import _reduction as _reduction
    from . import attention as attention
    from . import parallel as parallel
    from .parallel import DataParallel as DataParallel
    from .uninitialized import UninitializedBuffer as UninitializedBuffer
    from .uninitialized import UninitializedParameter as UninitializedParameter

if not _typing.TYPE_CHECKING:  # a type checker takes every name of a star, and reads no sum
    __all__ = list(modules.__all__)
    __all__ += [
        "Buffer",
        "DataParallel",
        "Parameter",
        "RemovableHandle",
        "UninitializedBuffer",
        "UninitializedParameter",
        "attention",
        "common_types",
        "factory_kwargs",
        "functional",
        "grad",
        "init",
        "modules",
        "parallel",
        "parameter",
        "register_module_buffer_registration_hook",
        "register_module_forward_hook",
        "register_module_forward_pre_hook",
        "register_module_full_backward_hook",
        "register_module_full_backward_pre_hook",
        "register_module_module_registration_hook",
        "register_module_parameter_registration_hook",
        "utils",
    ]

    __getattr__ = _names_of(
        __name__,
        ("_reduction", "attention", "parallel"),
        {
            "DataParallel": "dovetail.nn.parallel",
            "UninitializedBuffer": "dovetail.nn.uninitialized",
            "UninitializedParameter": "dovetail.nn.uninitialized",
            # Parts of pickled modules.
            "Hook": "dovetail.nn.modules.module.hooks",
            "ModuleHooks": "dovetail.nn.modules.module.hooks",
            "NonDynamicallyQuantizableLinear": "dovetail.nn.modules.linear",
        },
    )
