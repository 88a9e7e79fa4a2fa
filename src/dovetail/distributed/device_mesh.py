"""The path of `DeviceMesh`, which annotations name."""

from ..sharded_tensors import DeviceMesh

__all__ = ["DeviceMesh"]
