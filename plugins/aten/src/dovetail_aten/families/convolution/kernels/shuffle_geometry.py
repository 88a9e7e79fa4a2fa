"""Shapes of shuffles, and what is wrong with their arguments, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence


def shuffled_shape(shape: Sequence[int], factor: int) -> tuple[int, ...]:
    """Return the shape of the result of `pixel_shuffle`. Raises RuntimeError if there are no
    `factor` ** 2 channels for each new one.
    """
    _check("pixel_shuffle", "upscale_factor", shape, factor)
    channels = shape[-3]
    if channels % factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {factor**2}"
        )
    return (*shape[:-3], channels // factor**2, shape[-2] * factor, shape[-1] * factor)


def unshuffled_shape(shape: Sequence[int], factor: int) -> tuple[int, ...]:
    """Return the shape of the result of `pixel_unshuffle`. Raises RuntimeError if height and width
    are not multiples of `factor`.
    """
    _check("pixel_unshuffle", "downscale_factor", shape, factor)
    for dim, name in ((-2, "height"), (-1, "width")):
        if shape[dim] % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={shape[dim]} is not divisible by {factor}"
            )
    return (*shape[:-3], shape[-3] * factor**2, shape[-2] // factor, shape[-1] // factor)


def _check(name: str, argument: str, shape: Sequence[int], factor: int) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} "
            "dimension(s)"
        )
    if factor < 1:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


def check_channel_shuffle(shape: Sequence[int], groups: int) -> None:
    """Raise an error for channels that do not make `groups`. Raises RuntimeError with the
    numbers.
    """
    if len(shape) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}"
        )
    if groups < 1:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} "
            "groups."
        )
