"""``torch.distributed.algorithms``: hooks for communication."""

from . import ddp_comm_hooks

__all__ = ["ddp_comm_hooks"]
