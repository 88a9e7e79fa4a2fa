from . import _reduction
from . import attention as attention
from . import common_types as common_types
from . import functional as functional
from . import grad as grad
from . import init as init
from . import modules as modules
from . import parallel as parallel
from . import parameter as parameter
from . import utils as utils
from .factory import factory_kwargs as factory_kwargs
from .modules import *
from .modules.linear import NonDynamicallyQuantizableLinear
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
from .modules.module.hooks import Hook, ModuleHooks
from .modules.module.hooks import RemovableHandle as RemovableHandle
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .uninitialized import UninitializedBuffer as UninitializedBuffer
from .uninitialized import UninitializedParameter as UninitializedParameter
