"""Maxima over windows, and averages and maxima over a given number of windows."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn

Sizes = int | Sequence[int]
OpenSizes = int | None | Sequence[int | None]


def _full_sizes(input: Tensor, output_size: OpenSizes, ndim: int) -> Sequence[int]:
    """Return the sizes of the result, those of the input where None is given."""
    sizes = (
        [output_size] * ndim if output_size is None or isinstance(output_size, int) else output_size
    )
    if input.dim() <= len(sizes):
        raise ValueError(
            f"Input dimension should be at least {len(sizes) + 1}, but got {input.dim()}. Put the "
            "channels in front."
        )
    if not any([size is None for size in sizes]):
        return sizes  # type: ignore[return-value]
    own = input.shape[input.dim() - len(sizes) :]
    return [n if size is None else size for size, n in zip(sizes, own, strict=True)]


@overridable
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of each window over the last dimension.

    Parameters
    ----------
    input : Tensor
        ``(N, C, L)``, or without ``N``; floating point.
    kernel_size : int or sequence
        Elements of a window.
    stride : int or sequence, optional
        Distance between windows. Default: ``kernel_size``.
    padding : int or sequence, default 0
        Number of elements padded on both sides with the smallest value; at most half a window.
    dilation : int or sequence, default 1
        Distance between the elements of a window.
    ceil_mode : bool, default False
        Whether the last window may extend past the padding.
    return_indices : bool, default False
        Whether to also return the flat index of each maximum within its channel.

    Raises
    ------
    RuntimeError
        If no window fits into the input, or if numbers are out of range.
    """
    steps = [] if stride is None else stride
    if return_indices:
        return aten.max_pool1d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)
    return aten.max_pool1d(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the results of `max_pool1d` with ``return_indices=True``."""
    steps = [] if stride is None else stride
    return aten.max_pool1d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of each window over the last two dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)``, or without ``N``; floating point or integers.
    kernel_size, stride, padding, dilation, ceil_mode, return_indices
        As for `max_pool1d`, with its errors.
    """
    steps = [] if stride is None else stride
    if return_indices:
        return _nn.max_pool2d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)
    return aten.max_pool2d(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the results of `max_pool2d` with ``return_indices=True``."""
    steps = [] if stride is None else stride
    return _nn.max_pool2d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of each window over the last three dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, D, H, W)``, or without ``N``; floating point or integers.
    kernel_size, stride, padding, dilation, ceil_mode, return_indices
        As for `max_pool1d`, with its errors.
    """
    steps = [] if stride is None else stride
    if return_indices:
        return _nn.max_pool3d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)
    return aten.max_pool3d(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the results of `max_pool3d` with ``return_indices=True``."""
    steps = [] if stride is None else stride
    return _nn.max_pool3d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


@overridable
def adaptive_avg_pool2d(input: Tensor, output_size: OpenSizes) -> Tensor:
    """Return the averages of ``output_size`` windows of nearly equal size over the last two
    dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)``, or without ``N``; floating point.
    output_size : int or sequence of int or None
        Number of windows along each dimension; None means as many as there are elements.

    Raises
    ------
    ValueError
        If the input has too few dimensions.
    RuntimeError
        For other incompatible sizes.
    """
    return _nn.adaptive_avg_pool2d(input, _full_sizes(input, output_size, 2))


@overridable
def adaptive_avg_pool3d(input: Tensor, output_size: OpenSizes) -> Tensor:
    """Return the averages of ``output_size`` windows of nearly equal size over the last three
    dimensions.

    Parameters
    ----------
    input : Tensor
        ``(N, C, D, H, W)``, or without ``N``; floating point.
    output_size
        As for `adaptive_avg_pool2d`, with its errors.
    """
    return _nn.adaptive_avg_pool3d(input, _full_sizes(input, output_size, 3))


@overridable
def adaptive_max_pool1d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of ``output_size`` windows of nearly equal size over the last dimension.

    Parameters
    ----------
    input : Tensor
        ``(N, C, L)``, or without ``N``; floating point.
    output_size : int
        The number of windows.
    return_indices : bool
        Also return the index of each maximum along the last dimension.
    """
    made: tuple[Tensor, Tensor] = aten.adaptive_max_pool1d(input, output_size)
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maxima of windows of nearly equal size, and their indices; see
    `adaptive_max_pool1d`.
    """
    return aten.adaptive_max_pool1d(input, output_size)


@overridable
def adaptive_max_pool2d(
    input: Tensor, output_size: OpenSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of ``output_size`` windows of nearly equal size over the last two
    dimensions.

    Parameters
    ----------
    input, output_size
        As for `adaptive_avg_pool2d`.
    return_indices
        As for `max_pool2d`.
    """
    made: tuple[Tensor, Tensor] = _nn.adaptive_max_pool2d(input, _full_sizes(input, output_size, 2))
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: OpenSizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maxima of windows of nearly equal size, and their indices; see
    `adaptive_max_pool2d`.
    """
    return _nn.adaptive_max_pool2d(input, _full_sizes(input, output_size, 2))


@overridable
def adaptive_max_pool3d(
    input: Tensor, output_size: OpenSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of ``output_size`` windows of nearly equal size over the last three
    dimensions.

    Parameters
    ----------
    input, output_size
        As for `adaptive_avg_pool3d`.
    return_indices
        As for `max_pool3d`.
    """
    made: tuple[Tensor, Tensor] = _nn.adaptive_max_pool3d(input, _full_sizes(input, output_size, 3))
    return made if return_indices else made[0]


@overridable
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: OpenSizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maxima of windows of nearly equal size, and their indices; see
    `adaptive_max_pool3d`.
    """
    return _nn.adaptive_max_pool3d(input, _full_sizes(input, output_size, 3))
