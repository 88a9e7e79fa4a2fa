"""Fractional and power-average pooling, and unpooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from .. import functional as F
from ..functional_arguments import repeated

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]


# -- fractional pooling ----------------------------------------------------------------------------


def _fractional(
    ndim: int,
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: Ratios | None,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Return the maxima and their places; the numbers that choose the windows are drawn unless they
    are given.
    """
    name = f"fractional_max_pool{ndim}d"
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output_size or an output_ratio. Give one."
            )
        ratios = repeated(output_ratio, ndim)
        sizes = input.shape[input.dim() - ndim :]
        output_size = [int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True)]
    if samples is None:
        images = 1 if input.dim() == ndim + 1 else input.size(0)
        channels = input.size(-ndim - 1)
        samples = aten.rand(images, channels, ndim, dtype=input.dtype, device=input.device)
    operator = _nn.fractional_max_pool2d if ndim == 2 else _nn.fractional_max_pool3d
    return operator(input, kernel_size, output_size, samples)


@overridable
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of windows with random starts over the last two dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)``, or without ``N``; floating point.
    kernel_size : int or sequence
        Elements of a window.
    output_size, output_ratio : optional
        Number of windows, or number of windows per element. Pass one of them.
    return_indices : bool, default False
        Whether to also return the flat index of each maximum within its channel.
    _random_samples : Tensor, optional
        ``(N, C, 2)`` numbers in [0, 1). Default: random.

    Raises
    ------
    ValueError
        If neither the size nor the ratio is passed.
    RuntimeError
        If no window fits into the input.
    """
    made = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


@overridable
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the results of `fractional_max_pool2d` with ``return_indices=True``."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of windows with random starts over the last three dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, D, H, W)``, or without ``N``; floating point.
    kernel_size, output_size, output_ratio, return_indices
        As for `fractional_max_pool2d`, with its errors.
    _random_samples : Tensor, optional
        ``(N, C, 3)`` numbers in [0, 1). Default: random.
    """
    made = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


@overridable
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the results of `fractional_max_pool3d` with ``return_indices=True``."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


# -- power averages --------------------------------------------------------------------------------


def _rooted(averages: Tensor, norm_type: float, elements: int) -> Tensor:
    """Return the roots of sums, whose averages are given; 0 where a sum is negative."""
    sums = aten.mul(aten.mul(aten.sign(averages), F.relu(aten.abs(averages))), elements)
    return aten.pow(sums, 1.0 / norm_type)


@overridable
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last dimension.

    Parameters
    ----------
    input : Tensor
        ``(N, C, L)``, or without ``N``.
    norm_type : float
        The exponent. The gradient of a window whose sum is 0 is not finite.
    kernel_size, stride, ceil_mode
        As for `max_pool1d`.
    """
    steps = [] if stride is None else stride
    averages = F.avg_pool1d(aten.pow(input, norm_type), kernel_size, steps, 0, ceil_mode)
    return _rooted(averages, norm_type, math.prod(repeated(kernel_size, 1)))


@overridable
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last
    two dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)``, or without ``N``.
    norm_type, kernel_size, stride, ceil_mode
        As for `lp_pool1d`.
    """
    steps = [] if stride is None else stride
    averages = F.avg_pool2d(aten.pow(input, norm_type), kernel_size, steps, 0, ceil_mode)
    return _rooted(averages, norm_type, math.prod(repeated(kernel_size, 2)))


@overridable
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window over the last
    three dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, D, H, W)``, or without ``N``.
    norm_type, kernel_size, stride, ceil_mode
        As for `lp_pool1d`.
    """
    steps = [] if stride is None else stride
    averages = F.avg_pool3d(aten.pow(input, norm_type), kernel_size, steps, 0, ceil_mode)
    return _rooted(averages, norm_type, math.prod(repeated(kernel_size, 3)))


# -- unpooling -------------------------------------------------------------------------------------


def _unpooled_sizes(
    input: Tensor,
    kernel_size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    output_size: Sequence[int] | None,
) -> list[int]:
    """Return the sizes of what was pooled: the smallest, or those given, if they are possible."""
    ndim = len(kernel_size)
    rows = zip(input.shape[input.dim() - ndim :], kernel_size, stride, padding, strict=True)
    default = [(n - 1) * step + kernel - 2 * pad for n, kernel, step, pad in rows]
    if output_size is None:
        return default
    given = list(output_size[2:] if len(output_size) == ndim + 2 else output_size)
    if len(given) != ndim:
        raise ValueError(
            f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it "
            f"has a length of '{len(output_size)}'"
        )
    for dim, (size, least, step) in enumerate(zip(given, default, stride, strict=True)):
        if not least - step < size < least + step:
            raise ValueError(
                f'invalid output_size "{tuple(given)}" (dim {dim} must be between {least - step} '
                f"and {least + step})"
            )
    return given


@overridable
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Write maxima to their original positions in a tensor of zeros.

    Parameters
    ----------
    input, indices : Tensor
        Results of `max_pool1d` with ``return_indices``: ``(N, C, L)``, or without ``N``.
    kernel_size, stride, padding
        Arguments of that call.
    output_size : sequence, optional
        The shape of the pooled tensor, or its last dimensions. Default: the smallest possible.

    Raises
    ------
    ValueError
        If the pooled tensor cannot have had this size.
    RuntimeError
        If shapes are incompatible, or if an index is out of range.
    """
    kernel, pads = repeated(kernel_size, 1), repeated(padding, 1)
    steps = kernel if stride is None else repeated(stride, 1)
    sizes = _unpooled_sizes(input, kernel, steps, pads, output_size)
    made: Tensor = _nn.max_unpool2d(
        aten.unsqueeze(input, -1), aten.unsqueeze(indices, -1), [*sizes, 1]
    )
    return aten.squeeze(made, -1)


@overridable
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Write maxima to their positions in zero images ``(N, C, H, W)``; see `max_unpool1d`."""
    kernel, pads = repeated(kernel_size, 2), repeated(padding, 2)
    steps = kernel if stride is None else repeated(stride, 2)
    sizes = _unpooled_sizes(input, kernel, steps, pads, output_size)
    return _nn.max_unpool2d(input, indices, sizes)


@overridable
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Write maxima to their original positions in zero volumes ``(N, C, D, H, W)``; see
    `max_unpool1d`.
    """
    kernel, pads = repeated(kernel_size, 3), repeated(padding, 3)
    steps = kernel if stride is None else repeated(stride, 3)
    sizes = _unpooled_sizes(input, kernel, steps, pads, output_size)
    return _nn.max_unpool3d(input, indices, sizes, steps, pads)
