from dovetail_autograd.transforms import grad as grad
from dovetail_autograd.transforms import grad_and_value as grad_and_value
from dovetail_autograd.transforms import hessian as hessian
from dovetail_autograd.transforms import jacfwd as jacfwd
from dovetail_autograd.transforms import jacrev as jacrev
from dovetail_autograd.transforms import jvp as jvp
from dovetail_autograd.transforms import linearize as linearize
from dovetail_autograd.transforms import vjp as vjp
from dovetail_autograd.transforms import vmap as vmap

from .functionalization import functionalize as functionalize
from .modules import functional_call as functional_call
from .modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .modules import stack_module_state as stack_module_state
from .rearranging import rearrange as rearrange
from .unwrapping import debug_unwrap as debug_unwrap
