"""Normalisation, with PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

__all__ = [
    "layer_norm",
]


@overridable
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions to mean 0 and variance 1, then scale by ``weight`` and add
    ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``
    normalized_shape : sequence of int
        The last dimensions of the input.
    weight, bias : Tensor, optional
        Of shape ``normalized_shape``.
    eps : float, default 1e-5
        Added to the variance.
    """
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)
