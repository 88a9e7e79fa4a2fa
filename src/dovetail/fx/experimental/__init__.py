"""The path of `dovetail.fx.experimental.proxy_tensor`."""

from . import proxy_tensor as proxy_tensor

__all__ = ["proxy_tensor"]
