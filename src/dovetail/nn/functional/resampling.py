"""Images of another size, and images sampled at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import ops, overridable
from dovetail_kernel import warn_user

from ... import _nn

_MODES: Final = "nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact"
_LINEAR: Final = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}
"""Modes that take `align_corners`, and how many dimensions their images have."""
_INTERPOLATIONS: Final = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS: Final = {"zeros": 0, "border": 1, "reflection": 2}

_BEYOND: Final = float(1 << 63)

Sizes = int | Sequence[int]
Factors = float | Sequence[float]


@overridable
def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Factors | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize images.

    Parameters
    ----------
    input : Tensor
        ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``, floating point; for ``nearest`` also
        uint8.
    size : int or sequence of int, optional
        Size of the result along each dimension after the channels.
    scale_factor : float or sequence of float, optional
        Used instead of ``size``: ``size = floor(input size * scale_factor)``.
    mode : str
        ``nearest`` (default), ``nearest-exact``, ``linear`` (3-d input), ``bilinear``, ``bicubic``
        (4-d), ``trilinear`` (5-d) or ``area`` (means).
    align_corners : bool, optional
        For the linear and cubic modes: whether to align the centres of the corner elements instead
        of their outer edges. Default: False.
    recompute_scale_factor : bool, optional
        Whether to compute the coordinates from the sizes instead of ``scale_factor``. Default:
        False.
    antialias : bool
        Whether ``bilinear`` and ``bicubic`` smooth the image when shrinking it. Default: False.

    Returns
    -------
    Tensor
        ``(N, C, *size)``

    Raises
    ------
    ValueError
        If both or none of ``size`` and ``scale_factor`` are passed, or for an option that the mode
        does not support.
    NotImplementedError
        If the mode does not support the number of dimensions.
    """
    ndim = input.dim()
    corners: tuple[bool, ...]
    if mode in _LINEAR:
        corners = (False if align_corners is None else align_corners,)
    elif align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear. Leave it out."
        )
    else:
        corners = ()
    sizes, factors = _sizes_and_factors(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input. Leave it out."
        )
    if mode in _LINEAR and ndim in (3, 4, 5) and ndim != _LINEAR[mode]:
        raise NotImplementedError(
            f"Got {ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input. Choose another mode."
        )
    function = _resampling(mode, ndim, antialias)
    if mode == "area":
        result: Tensor = function(input, sizes)
        return result
    result = function(input, sizes, *corners, *factors)
    return result


def _sizes_and_factors(
    input: Tensor, size: Sizes | None, factor: Factors | None, recompute: bool | None
) -> tuple[list[int], list[float | None]]:
    """Return the sizes of the result, and the factors that say where its places lie, or None."""
    spatial = list(input.shape[2:])
    if size is None and factor is None:
        raise ValueError("either size or scale_factor should be defined. Give one of them.")
    if size is not None and factor is not None:
        raise ValueError("only one of size or scale_factor should be defined. Give one of them.")
    if size is not None:
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size. Leave it out."
            )
        sizes = list(_each(size, spatial, "output size of", "output size in (o1, o2, ...,oK)"))
        if not all([isinstance(each, int) for each in sizes]):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(each) for each in sizes]}. Round it."
            )
        return sizes, [None] * len(spatial)
    given: Any = factor
    factors = _each(given, spatial, "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
    sizes = [_scaled(length, float(each)) for length, each in zip(spatial, factors, strict=True)]
    return sizes, [None] * len(spatial) if recompute else [float(each) for each in factors]


def _scaled(length: int, factor: float) -> int:
    scaled = length * factor
    if not -_BEYOND < scaled < _BEYOND:  # or NaN
        raise RuntimeError(
            f"value cannot be converted to type int64_t without overflow: {length} times the "
            f"scale_factor {factor}. Give a finite factor."
        )
    return int(scaled)


def _each(value: Any, spatial: list[int], what: str, form: str) -> Sequence[Any]:
    """Return a number for each dimension of an image."""
    if not isinstance(value, list | tuple):
        return [value] * len(spatial)
    if len(value) != len(spatial):
        name = "scale_factor" if "scale" in what else "output"
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {spatial} and "
            f"{what} {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{form} format."
        )
    return value


def _resampling(mode: str, ndim: int, antialias: bool) -> Any:
    """Return the operator of a mode. Raises NotImplementedError if there is none for so many
    dimensions.
    """
    tables: dict[str, dict[int, str]] = {
        "nearest": {each: f"upsample_nearest{each - 2}d" for each in (3, 4, 5)},
        "nearest-exact": {each: f"_upsample_nearest_exact{each - 2}d" for each in (3, 4, 5)},
        "area": {each: f"adaptive_avg_pool{each - 2}d" for each in (3, 4, 5)},
        "linear": {3: "upsample_linear1d"},
        "bilinear": {4: "_upsample_bilinear2d_aa" if antialias else "upsample_bilinear2d"},
        "bicubic": {4: "_upsample_bicubic2d_aa" if antialias else "upsample_bicubic2d"},
        "trilinear": {5: "upsample_trilinear3d"},
    }
    name = tables.get(mode, {}).get(ndim)
    if name is None:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
            f"{_MODES} (got {mode}). Choose one of them."
        )
    if name.startswith("_"):
        return getattr(ops.aten, name).default
    return getattr(_nn if hasattr(_nn, name) else aten, name)


@overridable
def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Factors | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Deprecated: use `interpolate`."""
    _warn_of("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@overridable
def upsample_nearest(
    input: Tensor, size: Sizes | None = None, scale_factor: Factors | None = None
) -> Tensor:
    """Deprecated: use `interpolate` with ``mode="nearest"``."""
    _warn_of("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@overridable
def upsample_bilinear(
    input: Tensor, size: Sizes | None = None, scale_factor: Factors | None = None
) -> Tensor:
    """Deprecated: use `interpolate` with ``mode="bilinear", align_corners=True``."""
    _warn_of("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_of(name: str) -> None:
    warn_user(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@overridable
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return the values of images at the points of a grid.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)`` or ``(N, C, D, H, W)``, floating point.
    grid : Tensor
        ``(N, H', W', 2)`` or ``(N, D', H', W', 3)``: points ``(x, y)`` or ``(x, y, z)``, between
        -1 and 1 within the image.
    mode : str
        ``bilinear`` (default; trilinear for volumes), ``nearest`` or ``bicubic`` (of images).
    padding_mode : str
        Values outside the image: ``zeros`` (default), its ``border``, or its ``reflection``.
    align_corners : bool, optional
        Whether -1 and 1 refer to the centres of the corner elements instead of their outer edges.
        Default: False, with a warning.

    Returns
    -------
    Tensor
        ``(N, C, H', W')`` or ``(N, C, D', H', W')``

    Raises
    ------
    ValueError
        For any other mode.
    RuntimeError
        If shapes are incompatible.
    """
    for name, value, known in (
        ("mode", mode, _INTERPOLATIONS),
        ("padding_mode", padding_mode, _PADDINGS),
    ):
        if value not in known:
            *others, last = [f"'{each}'" for each in known]
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be {', '.join(others)} or {last},"
                f" but got: '{value}'. Choose one of them."
            )
    if align_corners is None:
        _warn_of_corners()
        align_corners = False
    return aten.grid_sampler(
        input, grid, _INTERPOLATIONS[mode], _PADDINGS[padding_mode], align_corners
    )


@overridable
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return a regular grid of points transformed by affine maps, for `grid_sample`.

    Parameters
    ----------
    theta : Tensor
        ``(N, 2, 3)`` for images or ``(N, 3, 4)`` for volumes, floating point.
    size : sequence of int
        ``(N, C, H, W)`` or ``(N, C, D, H, W)`` of the images to sample.
    align_corners : bool, optional
        As in `grid_sample`.

    Returns
    -------
    Tensor
        ``(N, H, W, 2)`` or ``(N, D, H, W, 3)``

    Raises
    ------
    ValueError
        If ``theta`` is not floating point or has the wrong shape, or if sizes are not positive.
    NotImplementedError
        For other numbers of dimensions.
    """
    if not theta.dtype.is_floating_point:
        raise ValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}. Convert it."
        )
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}."
        )
    rows = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (rows, rows + 1):
        raise ValueError(
            f"Expected a batch of {rows}D affine matrices of shape Nx{rows}x{rows + 1} for size "
            f"{list(size)}. Got {theta.shape}."
        )
    if min(size[-rows:]) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}.")
    if align_corners is None:
        _warn_of_corners()
        align_corners = False
    return aten.affine_grid_generator(theta, list(size), align_corners)


def _warn_of_corners() -> None:
    warn_user(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details."
    )
