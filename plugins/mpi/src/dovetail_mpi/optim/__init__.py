"""``torch.distributed.optim``: an optimizer whose state is divided among the ranks."""

from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
