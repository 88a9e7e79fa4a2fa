"""Batch normalisation as modules, with running statistics."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import int64

from ... import functional as F
from ..normalization import AffineNorm


class _NormBase(AffineNorm):
    """Weights, and statistics that follow the batches.

    Parameters
    ----------
    num_features : int
        How many channels there are: dimension 1 of the input.
    eps : float, default 1e-5
        Value added to the variance.
    momentum : float, optional
        The share of a batch in the running statistics; None: all batches count alike.
    affine : bool
        Whether to learn a ``weight`` (initially ones) and a ``bias`` (initially zeros).
    track_running_stats : bool
        Whether there are running statistics, which take the place of the batch's in evaluation:
        the buffers ``running_mean``, ``running_var`` and ``num_batches_tracked``.
    device, dtype : optional
        Of parameters and statistics.
    bias : bool, default True
        Whether to learn a bias, if ``affine``.
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    dims: tuple[int, ...] = ()
    # Before 2, state dicts had no count of batches.
    _version: int = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._add_affine((num_features,), affine, bias, device, dtype)
        tracks = track_running_stats
        zeros = aten.zeros(num_features, device=device, dtype=dtype) if tracks else None
        ones = aten.ones(num_features, device=device, dtype=dtype) if tracks else None
        count = aten.tensor(0, dtype=int64, device=device) if tracks else None
        self.register_buffer("running_mean", zeros)
        self.register_buffer("running_var", ones)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to zeros, the running variance to ones, and the count to 0."""
        if self.running_mean is not None:
            self.running_mean.zero_()
        if self.running_var is not None:
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to ones, the bias to zeros, and the statistics as at first."""
        self.reset_running_stats()
        super().reset_parameters()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            is_known = count is not None and not count.is_meta
            state_dict[key] = count if is_known else aten.tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            expected = " or ".join(f"{dim}D" for dim in self.dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    __doc__ = _NormBase.__doc__

    def _share(self) -> float:
        """Count a batch, and return its share in the running statistics."""
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked.item())
        return share

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = self._share()
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        follows = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if follows else None,
            self.running_var if follows else None,
            self.weight,
            self.bias,
            uses_batch,
            share,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``(N, C)`` or ``(N, C, L)``; see `functional.batch_norm`."""

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of ``(N, C, H, W)``; see `functional.batch_norm`."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of ``(N, C, D, H, W)``; see `functional.batch_norm`."""

    dims = (5,)
