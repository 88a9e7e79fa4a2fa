"""`Function` and its decorator, where a torch user looks for them: ``autograd.function``."""

from dovetail_autograd import Function, once_differentiable

__all__ = ["Function", "once_differentiable"]
