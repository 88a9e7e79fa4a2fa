"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["LayerNorm"]


class LayerNorm(Module):
    """Normalise over the last dimensions to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The last dimensions of the input.
    eps : float, default 1e-5
        Added to the variance.
    elementwise_affine : bool, default True
        Whether to learn a ``weight`` (initially ones) and a ``bias`` (initially zeros).
    bias : bool, default True
        Whether to learn a bias, if ``elementwise_affine``.
    device, dtype : optional
        Of the parameters.
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            data = aten.empty(self.normalized_shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if data is None else Parameter(data))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
