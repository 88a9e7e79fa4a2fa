"""Linear maps, convolutions and normalisations that take their channels from their first input."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import int64, restoring

from .. import parameter  # whose tensors without a shape are imported when asked for
from ..parameter import is_lazy
from .batchnorm.batch_norms import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _BatchNorm,
    _InstanceNorm,
    _NormBase,
)
from .conv.convolutions import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Sizes,
    _Convolution,
)
from .lazy import LazyModuleMixin
from .linear import Linear
from .module import Module

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose ``in_features`` are the last dimension of the first input.

    Parameters
    ----------
    out_features, bias, device, dtype
        As for `Linear`.
    """

    cls_to_become: ClassVar[type[Module] | None] = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        made: Any = {"device": device, "dtype": dtype}
        self.weight = parameter.UninitializedParameter(**made)
        self.out_features = out_features
        self.bias = parameter.UninitializedParameter(**made) if bias else None

    def reset_parameters(self) -> None:
        """Draw new initial values, once there are parameters."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    @restoring()
    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes.

        Raises
        ------
        RuntimeError
            If a loaded weight has other features than the input.
        """
        features = int(input.shape[-1])
        if is_lazy(self.weight):
            self.in_features = features
            with no_grad():
                self.weight.materialize((self.out_features, features))
                if is_lazy(self.bias):
                    self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:
            if self.weight.shape[-1] != features:
                raise RuntimeError(
                    f"The in_features inferred from input: {features} is not equal to in_features "
                    f"from self.weight: {self.weight.shape[-1]}. Load another state."
                )
            self.in_features = features


class _LazyConvolution(LazyModuleMixin, _Convolution):
    """What lazy convolutions have."""

    def _begin(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        made: Any = {"device": device, "dtype": dtype}
        self.weight = parameter.UninitializedParameter(**made)
        self.out_channels = out_channels
        if bias:
            self.bias = parameter.UninitializedParameter(**made)

    def reset_parameters(self) -> None:
        """Draw new initial values, once there are parameters."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    @restoring()
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes.

        Raises
        ------
        RuntimeError
            If the input has another number of dimensions.
        ValueError
            If the groups do not divide its channels.
        """
        channels = self._channels(input)
        if not self.has_uninitialized_params():
            self.in_channels = self.in_channels or channels
            return
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = channels
        inner, outer = channels, self.out_channels
        if self.transposed:
            inner, outer = outer, inner
        with no_grad():
            if is_lazy(self.weight):
                self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
            if is_lazy(self.bias):
                self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels(self, input: Tensor) -> int:
        spatial = self._ndim
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-spatial - 1])


class _LazyDirect(_LazyConvolution):
    """Convolutions of `Conv1d` and its kin, without ``in_channels``."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *[0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode]
        )
        self._begin(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConvolution):
    """Convolutions of `ConvTranspose1d` and its kin, without ``in_channels``."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *[0, 0, kernel_size, stride, padding, output_padding, groups, False],
            *[dilation, padding_mode],
        )
        self._begin(out_channels, bias, device, dtype)


class LazyConv1d(_LazyDirect, Conv1d):
    """`Conv1d` whose ``in_channels`` are those of the first input; other arguments as there."""

    cls_to_become: ClassVar[type[Module] | None] = Conv1d


class LazyConv2d(_LazyDirect, Conv2d):
    """`Conv2d` whose ``in_channels`` are those of the first input; other arguments as there."""

    cls_to_become: ClassVar[type[Module] | None] = Conv2d


class LazyConv3d(_LazyDirect, Conv3d):
    """`Conv3d` whose ``in_channels`` are those of the first input; other arguments as there."""

    cls_to_become: ClassVar[type[Module] | None] = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """`ConvTranspose1d` whose ``in_channels`` are those of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """`ConvTranspose2d` whose ``in_channels`` are those of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """`ConvTranspose3d` whose ``in_channels`` are those of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose3d


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What lazy normalisations have."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        made: Any = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = parameter.UninitializedParameter(**made)
            if bias:
                self.bias = parameter.UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean = parameter.UninitializedBuffer(**made)
            self.running_var = parameter.UninitializedBuffer(**made)
            self.num_batches_tracked = aten.tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set weights, biases and statistics as at first, once there are some."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics their shapes.

        Raises
        ------
        ValueError
            If the input has another number of dimensions.
        """
        self._check_input_dim(input)
        is_single = isinstance(self, _InstanceNorm) and input.dim() == self.dims[0]
        features = int(input.shape[0 if is_single else 1])
        if not self.has_uninitialized_params():
            self.num_features = self.num_features or features
            return
        self.num_features = features
        for tensor in [*self._parameters.values(), *self._buffers.values()]:
            if is_lazy(tensor):
                tensor.materialize((features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """`BatchNorm1d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm1d
    dims = BatchNorm1d.dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """`BatchNorm2d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm2d
    dims = BatchNorm2d.dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """`BatchNorm3d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm3d
    dims = BatchNorm3d.dims


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm1d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm1d
    dims = InstanceNorm1d.dims


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm2d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm2d
    dims = InstanceNorm2d.dims


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm3d` whose ``num_features`` are the channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm3d
    dims = InstanceNorm3d.dims
