"""Fractional and power-average pooling, and unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail_aten import Tensor

from ... import functional as F
from ...functional_arguments import repeated
from ..module import Module

Sizes = int | Sequence[int]


class _MaxUnpoolNd(Module):
    _ndim: ClassVar[int]
    _unpool: ClassVar[str]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = repeated(kernel_size, self._ndim)
        self.stride = repeated(kernel_size if stride is None else stride, self._ndim)
        self.padding = repeated(padding, self._ndim)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        result: Tensor = getattr(F, self._unpool)(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Write maxima to their original positions in a tensor of zeros.

    Parameters
    ----------
    kernel_size, stride, padding
        The arguments of the `MaxPool1d` (with ``return_indices``) that returned the maxima.
    """

    _ndim = 1
    _unpool = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Write maxima to their original positions in a tensor of zeros.

    Parameters
    ----------
    kernel_size, stride, padding
        The arguments of the `MaxPool2d` (with ``return_indices``) that returned the maxima.
    """

    _ndim = 2
    _unpool = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Write maxima to their original positions in a tensor of zeros.

    Parameters
    ----------
    kernel_size, stride, padding
        The arguments of the `MaxPool3d` (with ``return_indices``) that returned the maxima.
    """

    _ndim = 3
    _unpool = "max_unpool3d"


class _FractionalMaxPool(Module):
    _ndim: ClassVar[int]
    _pool: ClassVar[str]

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = repeated(kernel_size, self._ndim)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else repeated(output_size, self._ndim)
        self.output_ratio = None if output_ratio is None else repeated(output_ratio, self._ndim)
        if self.output_ratio is not None and not all([0 < each < 1 for each in self.output_ratio]):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Return the maxima of windows with random starts over the last two dimensions.

    Parameters
    ----------
    kernel_size, output_size, output_ratio, return_indices
        As for `functional.fractional_max_pool2d`.

    Raises
    ------
    ValueError
        If not exactly one of size and ratio is passed, or if a ratio is not between 0 and 1.
    """

    _ndim = 2
    _pool = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """Return the maxima of windows with random starts over the last three dimensions.

    Parameters
    ----------
    kernel_size, output_size, output_ratio, return_indices
        As for `functional.fractional_max_pool3d`.

    Raises
    ------
    ValueError
        If not exactly one of size and ratio is passed, or if a ratio is not between 0 and 1.
    """

    _ndim = 3
    _pool = "fractional_max_pool3d"


class _LPPoolNd(Module):
    _pool: ClassVar[str]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._pool)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last dimension.

    Parameters
    ----------
    norm_type, kernel_size, stride, ceil_mode
        As for `functional.lp_pool1d`.
    """

    _pool = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last
    two dimensions.

    Parameters
    ----------
    norm_type, kernel_size, stride, ceil_mode
        As for `functional.lp_pool2d`.
    """

    _pool = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last
    three dimensions.

    Parameters
    ----------
    norm_type, kernel_size, stride, ceil_mode
        As for `functional.lp_pool3d`.
    """

    _pool = "lp_pool3d"
