"""``torch.distributed.optim``: an optimizer whose state is divided among the ranks."""

from dovetail_kernel import publish

from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

publish("dovetail.distributed.optim", namespace=globals())
