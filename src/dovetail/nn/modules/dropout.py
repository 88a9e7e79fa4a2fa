"""Dropout."""

from __future__ import annotations

from dovetail_aten import Tensor

from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """Something done with probability ``p`` while training.

    Parameters
    ----------
    p : float, default 0.5
        Within [0, 1].
    inplace : bool, default False
        Write into the input.

    Raises
    ------
    ValueError
        If ``p`` is out of range.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}. Pass p in [0, 1]."
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """While training, zero elements with probability ``p`` and scale the others by ``1 / (1 -
    p)``.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """While training, zero whole channels of ``(N, C, L)`` or ``(C, L)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """While training, zero whole channels of ``(N, C, H, W)``; see `functional.dropout2d`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """While training, zero whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """While training, set elements to the limit of SELU, and keep mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """While training, set channels to the limit of SELU, and keep mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
