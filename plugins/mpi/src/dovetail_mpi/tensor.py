"""The path of `DTensor`, which programs ask whether their tensors are."""

from dovetail.names.absent_names import names_of as _names_of
from dovetail.names.sharded_tensors import DTensor

__all__ = ["DTensor"]

__getattr__ = _names_of("dovetail.distributed.tensor", namespace=globals())
