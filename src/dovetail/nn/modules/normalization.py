"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Device
from dovetail_kernel import dtype as DType

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class AffineNorm(Module):
    """Normalisation whose result is scaled by ``weight`` and shifted by ``bias``, if wanted."""

    weight: Parameter | None
    bias: Parameter | None

    def _add_affine(
        self,
        shape: tuple[int, ...],
        affine: bool,
        bias: bool,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            data = aten.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if data is None else Parameter(data))

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(AffineNorm):
    """Normalise over the last dimensions to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The last dimensions of the input.
    eps : float, default 1e-5
        Value added to the variance.
    elementwise_affine : bool, default True
        Whether to learn a ``weight`` (initially ones) and a ``bias`` (initially zeros).
    bias : bool, default True
        Whether to learn a bias, if ``elementwise_affine``.
    device, dtype : optional
        Device and dtype of the parameters.
    """

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
        self._add_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(AffineNorm):
    """Normalise groups of channels of every sample to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    num_groups, num_channels : int
        ``num_groups`` divides ``num_channels``.
    eps : float, default 1e-5
        Value added to the variance.
    affine : bool, default True
        Whether to learn a ``weight`` (initially ones) and a ``bias`` (initially zeros).
    device, dtype : optional
        Device and dtype of the parameters.
    bias : bool, default True
        Whether to learn a bias, if ``affine``.

    Raises
    ------
    ValueError
        If the groups do not divide the channels.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_affine((num_channels,), affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root of the mean square over the last dimensions, then scale.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The last dimensions of the input.
    eps : float, optional
        Value added to the mean square. Default: the ``finfo(dtype).eps`` of the input.
    elementwise_affine : bool, default True
        Whether to learn a ``weight``, initially ones.
    device, dtype : optional
        Of the parameter.
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        data = (
            aten.empty(self.normalized_shape, device=device, dtype=dtype)
            if elementwise_affine
            else None
        )
        self.register_parameter("weight", None if data is None else Parameter(data))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class _ResponseNorm(Module):
    """Normalisation by the squares of neighbouring channels."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Divide each channel by a power of the mean square of ``size`` neighbouring channels; see
    `functional.local_response_norm`.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """``input / (k + alpha / size * sum(squares of neighbouring channels)) ** beta``.

    The sum includes ``(size - 1) // 2`` channels on each side; the sum of `LocalResponseNorm` has
    ``size`` channels in total.

    Parameters
    ----------
    size : int
        Number of neighbouring channels, including the channel itself.
    alpha, beta, k : float
        As in the formula.

    Raises
    ------
    ValueError
        When called, if the input is not ``(N, C, H, W)``.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        half = (self.size - 1) // 2
        around = 2 * half + 1
        squares = F.pad((input * input).unsqueeze(1), [0, 0, 0, 0, half, half])
        total = F.avg_pool3d(squares, (around, 1, 1), stride=1).squeeze(1) * around
        return input / (self.k + self.alpha / self.size * total) ** self.beta
