"""Convolutions, transposed or not, that infer their channels from the first input."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import DeviceLike, restoring
from dovetail_kernel import dtype as DType

from ... import parameter  # whose tensors without a shape are imported when asked for
from ...parameter import is_lazy
from ..lazy import LazyModuleMixin
from ..module import Module
from .convolutions import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Sizes,
    _ConvNd,
)


class _LazyConvXdMixin(LazyModuleMixin, _ConvNd):
    """What lazy convolutions have."""

    def _begin(
        self, out_channels: int, bias: bool, device: DeviceLike | None, dtype: object
    ) -> None:
        made: Any = {"device": device, "dtype": dtype}
        self.weight = parameter.UninitializedParameter(**made)
        self.out_channels = out_channels
        if bias:
            self.bias = parameter.UninitializedParameter(**made)

    def reset_parameters(self) -> None:
        """Draw new initial values, once the parameters are materialized."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    @restoring()
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters. Raises RuntimeError if the input has another number of
        dimensions, and ValueError if the groups do not divide its channels.
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


class _LazyDirect(_LazyConvXdMixin):
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
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            *[0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode]
        )
        self._begin(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConvXdMixin):
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
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            *[0, 0, kernel_size, stride, padding, output_padding, groups, False],
            *[dilation, padding_mode],
        )
        self._begin(out_channels, bias, device, dtype)


class LazyConv1d(_LazyDirect, Conv1d):
    """`Conv1d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = Conv1d


class LazyConv2d(_LazyDirect, Conv2d):
    """`Conv2d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = Conv2d


class LazyConv3d(_LazyDirect, Conv3d):
    """`Conv3d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """`ConvTranspose1d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """`ConvTranspose2d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """`ConvTranspose3d` whose ``in_channels`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose3d
