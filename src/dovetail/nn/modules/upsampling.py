"""Resizing of images, as modules."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resample the spatial dimensions of ``(N, C, …)``, one to three.

    Parameters
    ----------
    size, scale_factor, mode, align_corners, recompute_scale_factor
        As for `functional.interpolate`.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple([float(factor) for factor in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor}, mode={self.mode!r}"
        return f"size={self.size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resample images ``(N, C, H, W)`` by nearest-neighbour interpolation."""

    def __init__(self, size: Any = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resample images ``(N, C, H, W)`` linearly, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
