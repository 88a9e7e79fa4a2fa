"""Images sampled at the points of a grid, and the points to which an affine map takes those of a
regular grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Tensor
from ..kernels.grid_sampling import check_grid_sampler


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Return the values of images, or of volumes, at points."""
    ndim = input.ndim
    if grid.ndim == ndim == 4:
        return F.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)
    if grid.ndim == ndim == 5:
        return F.grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners)
    sizes, dtypes = (input.shape, grid.shape), (input.dtype, grid.dtype)
    return check_grid_sampler(*sizes, *dtypes, interpolation_mode, padding_mode)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    """Return the points to which affine maps take those of a regular grid."""
    if not theta.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"affine_grid_generator\" not implemented for '{theta.dtype.scalar_name}'. Convert "
            "to a floating-point dtype first."
        )
    if len(size) not in (4, 5):
        raise RuntimeError(
            "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, but got a size of "
            f"{len(size)} numbers."
        )
    if theta.shape != (size[0], len(size) - 2, len(size) - 1):
        raise RuntimeError(
            f"affine_grid_generator: a size of {tuple(size)} needs maps of shape "
            f"{(size[0], len(size) - 2, len(size) - 1)}, but theta has {tuple(theta.shape)}. "
            "Give a map for each picture."
        )
    spatial = list(size[2:])
    lines = []
    for dim in reversed(range(len(spatial))):
        length = spatial[dim]
        line = F.linspace(-1, 1, length, dtype=theta.dtype, device=theta.device)
        if length == 1:
            line = F.zeros_like(line)
        if not align_corners:
            line = F.mul(line, (length - 1) / max(length, 1))
        shape = [1] * len(spatial)
        shape[dim] = length
        lines.append(F.expand(F.reshape(line, shape), spatial))
    lines.append(F.ones_like(lines[0]))
    base = F.reshape(F.stack(lines, -1), (1, -1, len(lines)))
    points = F.matmul(base, F.transpose(theta, 1, 2))
    return F.reshape(points, (theta.shape[0], *spatial, len(spatial)))
