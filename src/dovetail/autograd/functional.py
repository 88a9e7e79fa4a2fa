"""Products with Jacobians and Hessians, and these themselves, as ``torch.autograd.functional``."""

from dovetail_autograd.checking.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from dovetail_kernel import publish

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

publish(__name__)
