"""Patches of images as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from ..functional_arguments import repeated

__all__ = ["fold", "unfold"]


@overridable
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return the patches that a window passes over, as columns.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size, dilation, padding, stride : int or sequence of two
        The window, how far apart its elements are, the zeros on every side of the image, and how
        far the window moves. One number counts for both dimensions.

    Returns
    -------
    Tensor
        ``(N, C * kernel elements, windows)``

    Raises
    ------
    RuntimeError
        If no window fits, or numbers are out of range.
    """
    how = [repeated(each, 2) for each in (kernel_size, dilation, padding, stride)]
    result: Tensor = _nn.im2col(input, *how)
    return result


@overridable
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return images in which every element is the sum of the patches over it.

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
        If the numbers of rows and columns are not those of such patches.
    """
    given = (output_size, kernel_size, dilation, padding, stride)
    result: Tensor = _nn.col2im(input, *[repeated(each, 2) for each in given])
    return result
