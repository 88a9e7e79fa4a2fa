"""The normalized input of a normalization, for derivatives of it."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase


def normalized_input(
    k: Any, input: object, mean: Any, rstd: Any, dims: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return the normalized input and the reciprocal deviation, for what is differentiated again.

    `mean` and `rstd`, which forward saved, are constants to the graph. Over tensors both get the
    derivatives of all orders that they have as functions of the input: of how far its mean and
    variance are from where they are, which is nothing.
    """
    centered = k.sub(input, mean)
    if not isinstance(input, TensorBase):
        return k.mul(centered, rstd), rstd
    average = k.mean(input, dims, True)
    apart = k.sub(input, average)
    variance = k.mean(k.mul(apart, apart), dims, True)
    centered = k.sub(centered, k.sub(average, k.detach(average)))
    moved = k.mul(k.sub(variance, k.detach(variance)), k.mul(rstd, rstd))
    rstd = k.mul(rstd, k.rsqrt(k.add(moved, 1)))
    return k.mul(centered, rstd), rstd
