"""Dropout, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

__all__ = [
    "dropout",
]


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability ``p`` and scale the others by ``1 / (1 - p)``; without
    ``training``: the input.

    Raises
    ------
    ValueError
        If ``p`` is not within [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(
            f"dropout probability has to be between 0 and 1, but got {p}. Pass p in [0, 1]."
        )
    if inplace:
        return input.mul_(aten.dropout(aten.ones_like(input), p, training))
    return aten.dropout(input, p, training)
