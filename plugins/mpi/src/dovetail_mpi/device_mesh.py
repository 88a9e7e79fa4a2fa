"""The path of `DeviceMesh`, which annotations name."""

from dovetail.sharded_tensors import DeviceMesh

__all__ = ["DeviceMesh"]
