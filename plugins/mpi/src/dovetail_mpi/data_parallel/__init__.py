"""A copy of a model on every rank. Gradients are averaged during the backward."""

from .buckets import GradBucket
from .module import DistributedDataParallel

__all__ = ["DistributedDataParallel", "GradBucket"]
