"""Resampling of images."""

from __future__ import annotations

from collections.abc import Sequence

from ..array_kernels.upsampling import check_upsampled, check_upsampled_gradient
from .meta_array import MetaArray
from .table import like


def upsample(self: MetaArray, output_size: Sequence[int], *details: object) -> MetaArray:
    check_upsampled(self.shape, output_size)
    return like(self, (*self.shape[:2], *output_size))


def upsample_backward(
    grad_output: MetaArray,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *details: object,
) -> MetaArray:
    check_upsampled_gradient(grad_output.shape, output_size, input_size)
    return like(grad_output, tuple(input_size))
