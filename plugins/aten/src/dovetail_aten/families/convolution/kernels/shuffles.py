"""Channels that become places in space, and back, and channels in another order."""

from __future__ import annotations

from typing import Any

from ....kernel_support.family import Family, operator
from ....typing import Array
from .shuffle_geometry import check_channel_shuffle, shuffled_shape, unshuffled_shape


class Shuffles(Family):
    """Rearrangements of the channels of images. Each makes a new array."""

    @operator("pixel_shuffle")
    def pixel_shuffle(self, x: Array, upscale_factor: int) -> Any:
        """Return ``(*, C * r², H, W)`` as ``(*, C, H * r, W * r)``."""
        shape, r = shuffled_shape(x.shape, upscale_factor), upscale_factor
        *lead, channels = shape[:-2]
        parts = self.xp.reshape(x, (*lead, channels, r, r, *x.shape[-2:]))
        at = len(lead)
        moved = parts.transpose(*range(at + 1), at + 3, at + 1, at + 4, at + 2)
        return self.xp.reshape(moved.copy(), shape)

    @operator("pixel_unshuffle")
    def pixel_unshuffle(self, x: Array, downscale_factor: int) -> Any:
        """Return ``(*, C, H * r, W * r)`` as ``(*, C * r², H, W)``."""
        shape, r = unshuffled_shape(x.shape, downscale_factor), downscale_factor
        *lead, channels = x.shape[:-2]
        height, width = shape[-2:]
        parts = self.xp.reshape(x, (*lead, channels, height, r, width, r))
        at = len(lead)
        moved = parts.transpose(*range(at + 1), at + 2, at + 4, at + 1, at + 3)
        return self.xp.reshape(moved.copy(), shape)

    @operator("channel_shuffle")
    def channel_shuffle(self, x: Array, groups: int) -> Any:
        """Return the channels, dimension 1, dealt out to `groups` in turn."""
        check_channel_shuffle(x.shape, groups)
        images, channels = x.shape[:2]
        parts = self.xp.reshape(x, (images, groups, channels // groups, *x.shape[2:]))
        moved = parts.transpose(0, 2, 1, *range(3, parts.ndim))
        return self.xp.reshape(moved.copy(), x.shape)
