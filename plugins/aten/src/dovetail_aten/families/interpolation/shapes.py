"""Resampling of images."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_dispatcher import Operator

from ...meta.meta_array import MetaArray
from ...meta.table import Rule, like
from .kernels.grid_sampling import check_grid_sampler
from .kernels.upsampling import check_upsampled, check_upsampled_gradient


def upsample(self: MetaArray, output_size: Sequence[int], *details: object) -> MetaArray:
    check_upsampled(self.shape, output_size)
    return like(self, (*self.shape[:2], *output_size))


def upsample_backward(
    grad_output: MetaArray, output_size: Sequence[int], input_size: Sequence[int], *details: object
) -> MetaArray:
    check_upsampled_gradient(grad_output.shape, output_size, input_size)
    return like(grad_output, tuple(input_size))


def grid_sampler(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of sampling images or volumes at points."""
    ndim = 5 if op.base_name.endswith("3d") else 4

    def apply(
        input: MetaArray,
        grid: MetaArray,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
    ) -> MetaArray:
        sizes, dtypes = (input.shape, grid.shape), (input.dtype, grid.dtype)
        check_grid_sampler(*sizes, *dtypes, interpolation_mode, padding_mode, ndim)
        return like(input, (*input.shape[:2], *grid.shape[1:-1]))

    return apply
