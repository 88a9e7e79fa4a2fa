"""Interleaving of groups of channels."""

from __future__ import annotations

from dovetail_aten import Tensor

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Interleave groups of the channels of ``(N, C, *)``.

    Parameters
    ----------
    groups : int
        Number of groups, which divides ``C``.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
