"""One model on every rank, whose gradients are averaged while they are computed."""

from .buckets import GradBucket
from .module import DistributedDataParallel

__all__ = ["DistributedDataParallel", "GradBucket"]
