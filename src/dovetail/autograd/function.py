"""What belongs to `Function`, where a torch user looks for it: ``autograd.function``."""

from dovetail_autograd import Function, once_differentiable

__all__ = ["Function", "once_differentiable"]
