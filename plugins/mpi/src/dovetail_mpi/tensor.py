"""The path of `DTensor`, which programs ask whether their tensors are."""

from dovetail.sharded_tensors import DTensor

__all__ = ["DTensor"]
