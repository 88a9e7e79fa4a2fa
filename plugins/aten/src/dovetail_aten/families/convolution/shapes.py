"""Convolutions, patches and shuffles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels.convolution_geometry import check_convolution_dtypes, convolution_of
from .kernels.patch_geometry import Blocks, blocks_of, folded_blocks_of
from .kernels.shuffle_geometry import check_channel_shuffle, shuffled_shape, unshuffled_shape


def convolution(
    input: MetaArray, weight: MetaArray, bias: MetaArray | None, *how: Any
) -> MetaArray:
    check_convolution_dtypes(input.dtype, weight.dtype, None if bias is None else bias.dtype)
    return like(input, convolution_of(input, weight, bias, *how)[1])


def convolution_backward(
    grad_output: MetaArray,
    input: MetaArray,
    weight: MetaArray,
    bias_sizes: Sequence[int] | None,
    *how: Any,
) -> tuple[MetaArray | None, MetaArray | None, MetaArray | None]:
    *numbers, output_mask = how
    _, shape = convolution_of(input, weight, None, *numbers)
    made: list[Any] = [like(input), like(weight), like(grad_output, shape[1:2])]
    first, second, third = [
        each if wanted else None for each, wanted in zip(made, output_mask, strict=True)
    ]
    return first, second, third


def im2col(self: MetaArray, kernel_size: Sequence[int], *how: Sequence[int]) -> MetaArray:
    windows = blocks_of(self.shape, Blocks(kernel_size, *how))
    rows = self.shape[-3] * math.prod(kernel_size)
    columns = math.prod([window.number for window in windows])
    return like(self, (*self.shape[:-3], rows, columns))


def col2im(
    self: MetaArray, output_size: Sequence[int], kernel_size: Sequence[int], *how: Sequence[int]
) -> MetaArray:
    folded_blocks_of(self.shape, output_size, Blocks(kernel_size, *how))
    channels = self.shape[-2] // math.prod(kernel_size)
    return like(self, (*self.shape[:-2], channels, *output_size))


def pixel_shuffle(self: MetaArray, upscale_factor: int) -> MetaArray:
    return like(self, shuffled_shape(self.shape, upscale_factor))


def pixel_unshuffle(self: MetaArray, downscale_factor: int) -> MetaArray:
    return like(self, unshuffled_shape(self.shape, downscale_factor))


def channel_shuffle(self: MetaArray, groups: int) -> MetaArray:
    check_channel_shuffle(self.shape, groups)
    return like(self)
