"""The path of `DeviceMesh`, which annotations name."""

from dovetail.names.absent_names import names_of as _names_of
from dovetail.names.sharded_tensors import DeviceMesh

__all__ = ["DeviceMesh"]

__getattr__ = _names_of("dovetail.distributed.device_mesh", namespace=globals())
