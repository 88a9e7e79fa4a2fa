"""The path of `DTensor`, which programs ask whether their tensors are."""

from ..names.missing import serve_names as _serve_names
from ..names.sharded_tensors import DTensor

__all__ = ["DTensor"]


_serve_names(__name__)
