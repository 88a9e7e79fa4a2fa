"""``torch.distributed.optim``: an optimizer that divides its state among the ranks."""

from dovetail_kernel import publish

from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

publish("dovetail.distributed.optim", namespace=globals())
