"""Convolutions, transposed or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ... import functional as F
from ... import init
from ...functional_arguments import repeated
from ...parameter import Parameter
from ..module import Module

Sizes = int | Sequence[int]

_MODES: Final = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions have."""

    _ndim: ClassVar[int]
    _transposed: ClassVar[bool] = False

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: str | Sizes,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        ndim = self._ndim
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, but got {groups}")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{name} must be divisible by groups, but {channels} is not by {groups}"
                )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = repeated(kernel_size, ndim)
        self.stride = repeated(stride, ndim)
        self.padding = padding if isinstance(padding, str) else repeated(padding, ndim)
        self.dilation = repeated(dilation, ndim)
        self.transposed = self._transposed
        self.output_padding = repeated(output_padding, ndim)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_padding()
        self._reversed_padding_repeated_twice = self._sides()
        inner, outer = in_channels, out_channels
        if self._transposed:
            inner, outer = outer, inner
        shape = (outer, inner // groups, *self.kernel_size)
        self.weight = Parameter(aten.empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(aten.empty(out_channels, device=device, dtype=dtype)) if bias else None,
        )
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("valid", "same"):
                raise ValueError(
                    f"Invalid padding string {self.padding!r}, should be one of 'valid', 'same'"
                )
            if self.padding == "same" and any([step != 1 for step in self.stride]):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise ValueError(
                f"padding_mode must be one of {', '.join(_MODES)}, but got "
                f"padding_mode={self.padding_mode!r}"
            )
        if self._transposed and self.padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')

    def _sides(self) -> list[int]:
        """Return the padding before and after, of the last dimension first."""
        if not isinstance(self.padding, str):
            return [pad for pad in reversed(self.padding) for _ in range(2)]
        sides = []
        for apart, kernel in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            total = apart * (kernel - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        none, ones = (0,) * self._ndim, (1,) * self._ndim
        shown = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
            *[f"padding={self.padding}"] * (self.padding != none),
            *[f"dilation={self.dilation}"] * (self.dilation != ones),
            *[f"output_padding={self.output_padding}"] * (self.output_padding != none),
            *[f"groups={self.groups}"] * (self.groups != 1),
            *["bias=False"] * (self.bias is None),
            *[f"padding_mode={self.padding_mode}"] * (self.padding_mode != "zeros"),
        ]
        return ", ".join(shown)


class _Direct(_ConvNd):
    """Convolutions that are not transposed."""

    _convolve: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        result: Tensor = getattr(F, self._convolve)(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return result


class Conv1d(_Direct):
    """Cross-correlation of signals with a weight, plus a bias.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input ``(N, in_channels, L)`` and of the output ``(N, out_channels, L')``;
        ``N`` is optional.
    kernel_size, stride, dilation : int or sequence
        Size of the window, its step, and the distance between its elements.
    padding : int, sequence, 'same' or 'valid', default 0
        Number of elements padded on both sides; 'same' keeps the size and requires a stride of 1.
    groups : int, default 1
        Number of groups of channels; each group of output channels depends on one group of input
        channels.
    bias : bool, default True
        Whether to add a bias.
    padding_mode : {'zeros', 'reflect', 'replicate', 'circular'}
        Kind of padding.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    weight : Parameter
        ``(out_channels, in_channels / groups, kernel_size)``; weight and bias are initialised
        uniformly within ``± 1 / sqrt(in_channels / groups * kernel_size)``.
    bias : Parameter or None
        ``(out_channels,)``

    Raises
    ------
    ValueError
        If ``groups`` does not divide the channels, or for an unknown padding.
    """

    _ndim = 1
    _convolve = "conv1d"


class Conv2d(_Direct):
    """Cross-correlation of images ``(N, in_channels, H, W)`` with a weight, plus a bias; see
    `Conv1d`.
    """

    _ndim = 2
    _convolve = "conv2d"


class Conv3d(_Direct):
    """Cross-correlation of volumes ``(N, in_channels, D, H, W)`` with a weight, plus a bias; see
    `Conv1d`.
    """

    _ndim = 3
    _convolve = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """Transposed convolutions."""

    _transposed = True
    _convolve: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
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
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        beyond = self.output_padding if output_size is None else self._beyond(input, output_size)
        result: Tensor = getattr(F, self._convolve)(
            *[input, self.weight, self.bias, self.stride, self.padding, beyond, self.groups],
            self.dilation,
        )
        return result

    def _beyond(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """Return the output padding that gives the wanted size."""
        ndim = self._ndim
        lead = input.dim() - ndim
        wanted = list(output_size[lead:] if len(output_size) == input.dim() else output_size)
        if len(wanted) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {input.dim()}D input, output_size must have {ndim} or "
                f"{ndim + lead} elements (got {len(output_size)})"
            )
        assert not isinstance(self.padding, str)
        sizes = input.shape[lead:]
        rows = zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [
            (n - 1) * step - 2 * pad + apart * (kernel - 1) + 1
            for n, step, pad, apart, kernel in rows
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any([not a <= n <= b for a, n, b in zip(least, wanted, most, strict=True)]):
            raise ValueError(
                f"requested an output size of {tuple(wanted)}, but valid sizes range from {least} "
                f"to {most} (for an input of {list(sizes)})"
            )
        return [n - size for n, size in zip(wanted, least, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of a convolution with respect to its input, as a module.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input ``(N, in_channels, L)`` and of the output ``(N, out_channels, L')``;
        ``N`` is optional.
    kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As for `Conv1d`; they describe the convolution from the output to the input.
    output_padding : int or sequence, default 0
        Number of elements added at the end of the output: a strided convolution maps several sizes
        to the same size.
    padding_mode : {'zeros'}
        No other mode is supported.

    Attributes
    ----------
    weight : Parameter
        ``(in_channels, out_channels / groups, kernel_size)``; weight and bias are initialised
        uniformly within ``± 1 / sqrt(out_channels / groups * kernel_size)``.
    bias : Parameter or None
        ``(out_channels,)``

    Raises
    ------
    ValueError
        If ``groups`` does not divide the channels, or, when called, for an impossible
        ``output_size``.
    """

    _ndim = 1
    _convolve = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of a convolution of images, as a module; see `ConvTranspose1d`."""

    _ndim = 2
    _convolve = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of a convolution of volumes, as a module; see `ConvTranspose1d`."""

    _ndim = 3
    _convolve = "conv_transpose3d"
