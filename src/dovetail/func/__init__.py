"""Transforms of functions, as ``torch.func``: they take a function and return one, and may be
nested in any order.

May import `nn` and the packages below.
"""

from dovetail_autograd.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

from .functionalization import functionalize
from .modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "functionalize",
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
