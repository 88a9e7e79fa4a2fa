"""Transforms of functions, as ``torch.func``: they take a function and return one."""

from .functionalization import functionalize

__all__ = ["functionalize"]
