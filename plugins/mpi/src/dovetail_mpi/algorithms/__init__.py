"""``torch.distributed.algorithms``: hooks for communication, uneven inputs."""

from . import ddp_comm_hooks, join

__all__ = ["ddp_comm_hooks", "join"]
