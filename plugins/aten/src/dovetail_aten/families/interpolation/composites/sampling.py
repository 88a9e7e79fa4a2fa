"""Resampling by sizes or by factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Tensor

Sizes = Sequence[int] | None
Factors = Sequence[float] | None


def _sizes_and_scales(input: Tensor, sizes: Sizes, factors: Factors) -> tuple[Any, Any]:
    """Return the sizes of the result, and the factors or None for each."""
    spatial = tuple(input.shape[2:])
    if (sizes is None) == (factors is None):
        raise RuntimeError(
            "Must specify exactly one of output_size and scale_factors. Give one of them."
        )
    given: Any = sizes if factors is None else factors
    if len(given) != len(spatial):
        raise RuntimeError(
            f"Expected {len(spatial)} numbers for the dimensions {list(spatial)} of the image, but "
            f"got {len(given)}. Give one for each."
        )
    if factors is None:
        return tuple(given), (None,) * len(spatial)
    return tuple(
        [int(size * factor) for size, factor in zip(spatial, factors, strict=True)]
    ), tuple(factors)


def upsample_nearest1d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `upsample_nearest1d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_nearest1d(input, sizes, *scales)


def upsample_nearest2d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `upsample_nearest2d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_nearest2d(input, sizes, *scales)


def upsample_nearest3d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `upsample_nearest3d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_nearest3d(input, sizes, *scales)


def upsample_nearest_exact1d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `_upsample_nearest_exact1d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F._upsample_nearest_exact1d(input, sizes, *scales)


def upsample_nearest_exact2d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `_upsample_nearest_exact2d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F._upsample_nearest_exact2d(input, sizes, *scales)


def upsample_nearest_exact3d_vec(input: Tensor, output_size: Sizes, scale_factors: Factors) -> Any:
    """Return `_upsample_nearest_exact3d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F._upsample_nearest_exact3d(input, sizes, *scales)


def upsample_linear1d_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `upsample_linear1d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_linear1d(input, sizes, align_corners, *scales)


def upsample_bilinear2d_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `upsample_bilinear2d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_bilinear2d(input, sizes, align_corners, *scales)


def upsample_trilinear3d_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `upsample_trilinear3d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_trilinear3d(input, sizes, align_corners, *scales)


def upsample_bicubic2d_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `upsample_bicubic2d`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F.upsample_bicubic2d(input, sizes, align_corners, *scales)


def upsample_bilinear2d_aa_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `_upsample_bilinear2d_aa`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F._upsample_bilinear2d_aa(input, sizes, align_corners, *scales)


def upsample_bicubic2d_aa_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Factors
) -> Any:
    """Return `_upsample_bicubic2d_aa`."""
    sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
    return F._upsample_bicubic2d_aa(input, sizes, align_corners, *scales)
