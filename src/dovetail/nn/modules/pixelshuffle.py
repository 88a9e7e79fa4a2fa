"""Rearranging channels into pixels, and back."""

from __future__ import annotations

from dovetail_aten import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Return ``(*, C * r², H, W)`` as ``(*, C, H * r, W * r)``.

    Parameters
    ----------
    upscale_factor : int
        r
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Return ``(*, C, H * r, W * r)`` as ``(*, C * r², H, W)``.

    Parameters
    ----------
    downscale_factor : int
        r
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
