"""Derivatives beside finite differences, as ``torch.autograd.gradcheck``."""

from dovetail_autograd import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
