"""Transforms of functions, as ``torch.func``: they take a function and return one, and may be nested in any order."""

from dovetail_autograd.transforms.gradients import grad, grad_and_value, vjp
from dovetail_autograd.transforms.jacobians import hessian, jacfwd, jacrev
from dovetail_autograd.transforms.mapping import vmap
from dovetail_autograd.transforms.pushforward import jvp, linearize

from .modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
