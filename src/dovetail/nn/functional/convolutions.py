"""Patches of images as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from ..functional_arguments import repeated


@overridable
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return the patches under a sliding window, as columns.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size, dilation, padding, stride : int or sequence of two
        Size of the window, distance between its elements, number of zeros padded on every side of
        the image, and step of the window. One number applies to both dimensions.

    Returns
    -------
    Tensor
        ``(N, C * kernel elements, windows)``

    Raises
    ------
    RuntimeError
        If no window fits into the input, or if numbers are out of range.
    """
    how = [repeated(each, 2) for each in (kernel_size, dilation, padding, stride)]
    return _nn.im2col(input, *how)


@overridable
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Sum overlapping patches into images.

    Parameters
    ----------
    input : Tensor
        ``(N, C * kernel elements, windows)``, as `unfold` returns it, or without ``N``.
    output_size : int or sequence of two
        Height and width of the images.
    kernel_size, dilation, padding, stride
        As for `unfold`.

    Returns
    -------
    Tensor
        ``(N, C, *output_size)``

    Raises
    ------
    RuntimeError
        If the numbers of rows and columns do not match the patches.
    """
    given = (output_size, kernel_size, dilation, padding, stride)
    return _nn.col2im(input, *[repeated(each, 2) for each in given])
