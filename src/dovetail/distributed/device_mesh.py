"""The path of `DeviceMesh`, which annotations name."""

from ..names.missing import serve_names as _serve_names
from ..names.sharded_tensors import DeviceMesh

__all__ = ["DeviceMesh"]


_serve_names(__name__)
