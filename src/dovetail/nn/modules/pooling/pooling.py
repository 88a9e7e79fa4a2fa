"""Maxima and averages over windows, and over a given number of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail_aten import Tensor

from ... import functional as F
from ...functional_arguments import repeated
from ..module import Module

Sizes = int | Sequence[int]
OpenSizes = int | None | Sequence[int | None]


class _MaxPoolNd(Module):
    _pool: ClassVar[str]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Return the maximum of each window over the last dimension of ``(N, C, L)``.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, return_indices, ceil_mode
        As for `functional.max_pool1d`.
    """

    _pool = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Return the maximum of each window over the last two dimensions of ``(N, C, H, W)``.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, return_indices, ceil_mode
        As for `functional.max_pool2d`.
    """

    _pool = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Return the maximum of each window over the last three dimensions of ``(N, C, D, H, W)``.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, return_indices, ceil_mode
        As for `functional.max_pool3d`.
    """

    _pool = "max_pool3d"


class AvgPool1d(Module):
    """Return the average of each window over the last dimension of ``(N, C, L)``.

    Parameters
    ----------
    kernel_size, stride, padding : int or sequence
        Size of a window, distance between windows (default: ``kernel_size``), and number of zeros
        padded on both sides.
    ceil_mode : bool, default False
        Whether the last window may extend past the padding.
    count_include_pad : bool, default True
        Whether the average includes the padding.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = repeated(kernel_size, 1)
        self.stride = repeated(kernel_size if stride is None else stride, 1)
        self.padding = repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    _pool: ClassVar[str]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """Return the average of each window over the last two dimensions of ``(N, C, H, W)``.

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode, count_include_pad
        As for `AvgPool1d`.
    divisor_override : int, optional
        Divisor of the sums. Default: the number of elements.
    """

    _pool = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """Return the average of each window over the last three dimensions of ``(N, C, D, H, W)``.

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode, count_include_pad
        As for `AvgPool1d`.
    divisor_override : int, optional
        Divisor of the sums. Default: the number of elements.
    """

    _pool = "avg_pool3d"


class _AdaptiveAvgPoolNd(Module):
    _pool: ClassVar[str]

    def __init__(self, output_size: OpenSizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._pool)(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    _pool: ClassVar[str]

    def __init__(self, output_size: OpenSizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._pool)(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Return the averages of windows of nearly equal size over the last dimension of ``(N, C, L)``.

    Parameters
    ----------
    output_size : int
        Number of windows.
    """

    _pool = "adaptive_avg_pool1d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Return the maxima of windows of nearly equal size over the last dimension of ``(N, C, L)``.

    Parameters
    ----------
    output_size
        As for `AdaptiveAvgPool1d`.
    return_indices : bool, default False
        Whether to also return the flat index of each maximum within its channel.
    """

    _pool = "adaptive_max_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Return the averages of windows of nearly equal size over the last two dimensions of ``(N, C,
    H, W)``.

    Parameters
    ----------
    output_size : int or sequence of int or None
        Number of windows along each dimension; None means as many as there are elements.
    """

    _pool = "adaptive_avg_pool2d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Return the maxima of windows of nearly equal size over the last two dimensions of ``(N, C, H,
    W)``.

    Parameters
    ----------
    output_size
        As for `AdaptiveAvgPool2d`.
    return_indices : bool, default False
        Whether to also return the flat index of each maximum within its channel.
    """

    _pool = "adaptive_max_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Return the averages of windows of nearly equal size over the last three dimensions of ``(N,
    C, D, H, W)``.

    Parameters
    ----------
    output_size : int or sequence of int or None
        Number of windows along each dimension; None means as many as there are elements.
    """

    _pool = "adaptive_avg_pool3d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Return the maxima of windows of nearly equal size over the last three dimensions of ``(N, C,
    D, H, W)``.

    Parameters
    ----------
    output_size
        As for `AdaptiveAvgPool3d`.
    return_indices : bool, default False
        Whether to also return the flat index of each maximum within its channel.
    """

    _pool = "adaptive_max_pool3d"
