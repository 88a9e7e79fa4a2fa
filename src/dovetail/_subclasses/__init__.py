"""The path of `dovetail._subclasses.fake_tensor`."""

from . import fake_tensor as fake_tensor

__all__ = ["fake_tensor"]
