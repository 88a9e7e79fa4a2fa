"""Shapes of `im2col` and `col2im`, and what is wrong with their arguments, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....kernel_support.geometry.window_geometry import Window, positions


class Blocks(NamedTuple):
    """Sliding blocks of images, in the order of the operators' arguments: two numbers each."""

    kernel_size: Sequence[int]
    dilation: Sequence[int]
    padding: Sequence[int]
    stride: Sequence[int]


def blocks_of(shape: Sequence[int], blocks: Blocks) -> tuple[Window, ...]:
    """Return the windows of `im2col` over images of a shape. Raises RuntimeError for a shape or
    numbers that do not fit.
    """
    _check(blocks)
    kernel_size, dilation, padding, _ = blocks
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    windows = _windows(shape[-2:], blocks)
    counts = tuple([window.number for window in windows])
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={tuple(kernel_size)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape of the array "
            f"of sliding blocks as {counts}, but its components must be at least one."
        )
    return windows


def folded_blocks_of(
    shape: Sequence[int], output_size: Sequence[int], blocks: Blocks
) -> tuple[Window, ...]:
    """Return the windows of `col2im` over the images that it makes. Raises RuntimeError for a shape
    or numbers that do not fit.
    """
    _check(blocks)
    kernel_size, dilation, padding, stride = blocks
    if len(output_size) != 2:
        raise RuntimeError(
            f"It is expected output_size equals to 2, but got size {len(output_size)}"
        )
    if min(output_size) < 1:
        raise RuntimeError(
            f"Expected all elements of output_size to be positive, but got {list(output_size)}"
        )
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    if shape[-2] % math.prod(kernel_size):
        raise RuntimeError(
            f"Expected size of input's dimension {len(shape) - 2} to be divisible by the product "
            f"of kernel_size, but got input.size({len(shape) - 2})={shape[-2]} and "
            f"kernel_size={tuple(kernel_size)}."
        )
    windows = _windows(output_size, blocks)
    rows, columns = [window.number for window in windows]
    if rows * columns != shape[-1] or rows < 1 or columns < 1:
        raise RuntimeError(
            f"Given output_size={tuple(output_size)}, kernel_size={tuple(kernel_size)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, stride={tuple(stride)}, "
            f"expected size of input's dimension {len(shape) - 1} to match the calculated number "
            f"of sliding blocks {rows} * {columns} = {rows * columns}, but got "
            f"input.size({len(shape) - 1})={shape[-1]}."
        )
    return windows


def _windows(sizes: Sequence[int], blocks: Blocks) -> tuple[Window, ...]:
    kernel_size, dilation, padding, stride = blocks
    rows = zip(sizes, kernel_size, stride, padding, dilation, strict=True)
    return tuple([Window(*row, positions(*row)) for row in rows])


def _check(blocks: Blocks) -> None:
    for name, values in blocks._asdict().items():
        if len(values) != 2:
            raise RuntimeError(
                f"It is expected {name} equals to 2, but got size {len(values)}. Give one number, "
                "or one for each dimension."
            )
    for name, values in (
        ("kernel size", blocks.kernel_size),
        ("stride", blocks.stride),
        ("dilation", blocks.dilation),
    ):
        if min(values) < 1:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {name.split()[0]}_height: "
                f"{values[0]} {name.split()[0]}_width: {values[1]}"
            )
    padding = blocks.padding
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: "
            f"{padding[1]}"
        )
