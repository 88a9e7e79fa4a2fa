"""``torch.distributed.algorithms.join``: training on ranks with different numbers of inputs."""

from ..joining import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
