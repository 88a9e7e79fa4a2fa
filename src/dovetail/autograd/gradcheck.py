"""Comparison of derivatives with finite differences, as in ``torch.autograd.gradcheck``."""

from dovetail_autograd import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
