"""Normalisation across neighbouring channels, by its old name."""

from __future__ import annotations

from dovetail_aten import Tensor

from .. import functional as F
from .module import Module

__all__ = ["CrossMapLRN2d"]


class CrossMapLRN2d(Module):
    """``input / (k + alpha / size * sum(squares of the channels around)) ** beta``.

    The channels around are ``(size - 1) // 2`` on both sides; `LocalResponseNorm` takes ``size``
    of them.

    Parameters
    ----------
    size : int
        How many channels around, itself included.
    alpha, beta, k : float
        As in the formula.

    Raises
    ------
    ValueError
        When called: unless the input is ``(N, C, H, W)``.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        half = (self.size - 1) // 2
        around = 2 * half + 1
        squares = F.pad((input * input).unsqueeze(1), [0, 0, 0, 0, half, half])
        total = F.avg_pool3d(squares, (around, 1, 1), stride=1).squeeze(1) * around
        result: Tensor = input / (self.k + self.alpha / self.size * total) ** self.beta
        return result

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
