"""Dropout."""

from __future__ import annotations

from dovetail_aten import Tensor

from . import functional as F
from .module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """While training, zero elements with probability ``p`` and scale the others by ``1 / (1 - p)``.

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

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
