"""Instance normalization as modules, including lazy ones that infer their channels from the first
input.
"""

from __future__ import annotations

from typing import ClassVar

from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike, warn_user
from dovetail_kernel import dtype as DType

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase
from .module import Module

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.dim() == self.dims[0]
        self._check_features(input.size(0 if single else 1), 0 if single else 1)
        rows = input.unsqueeze(0) if single else input
        made = F.instance_norm(
            rows,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return made.squeeze(0) if single else made

    def _check_features(self, size: int, dim: int) -> None:
        """Raise an error for another number of channels, or warn where the number does not
        matter.
        """
        if size == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                f"but got: {size}."
            )
        warn_user(
            f"input's size at dim={dim} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False"
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of each channel of each sample of ``(N, C, L)`` or ``(C, L)``."""

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of each channel of each sample of ``(N, C, H, W)`` or ``(C, H, W)``."""

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of each channel of each sample of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    dims = (4, 5)


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    """What lazy instance normalizations have."""

    def _dim_of_channels(self, input: Tensor) -> int:
        return 0 if input.dim() == self.dims[0] else 1


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """`InstanceNorm1d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm1d
    dims = InstanceNorm1d.dims


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """`InstanceNorm2d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm2d
    dims = InstanceNorm2d.dims


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """`InstanceNorm3d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm3d
    dims = InstanceNorm3d.dims
