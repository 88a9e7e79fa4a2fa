"""Resampling by sizes or by factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Tensor

Sizes = Sequence[int] | None
Factors = Sequence[float] | None


def _sizes_and_scales(input: Tensor, sizes: Sizes, factors: Any) -> tuple[Any, Any]:
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


def _of_sizes_or_scales(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the composite that calls `function` with the sizes of the result and the scales, of
    which its caller gives one; what stands between them in the schema is handed on.
    """

    def sampled(input: Tensor, output_size: Sizes, *options: bool | Factors) -> Any:
        *own, scale_factors = options
        sizes, scales = _sizes_and_scales(input, output_size, scale_factors)
        return function(input, sizes, *own, *scales)

    return sampled


upsample_nearest1d_vec = _of_sizes_or_scales(F.upsample_nearest1d)
upsample_nearest2d_vec = _of_sizes_or_scales(F.upsample_nearest2d)
upsample_nearest3d_vec = _of_sizes_or_scales(F.upsample_nearest3d)
upsample_nearest_exact1d_vec = _of_sizes_or_scales(F._upsample_nearest_exact1d)
upsample_nearest_exact2d_vec = _of_sizes_or_scales(F._upsample_nearest_exact2d)
upsample_nearest_exact3d_vec = _of_sizes_or_scales(F._upsample_nearest_exact3d)
upsample_linear1d_vec = _of_sizes_or_scales(F.upsample_linear1d)
upsample_bilinear2d_vec = _of_sizes_or_scales(F.upsample_bilinear2d)
upsample_trilinear3d_vec = _of_sizes_or_scales(F.upsample_trilinear3d)
upsample_bicubic2d_vec = _of_sizes_or_scales(F.upsample_bicubic2d)
upsample_bilinear2d_aa_vec = _of_sizes_or_scales(F._upsample_bilinear2d_aa)
upsample_bicubic2d_aa_vec = _of_sizes_or_scales(F._upsample_bicubic2d_aa)
