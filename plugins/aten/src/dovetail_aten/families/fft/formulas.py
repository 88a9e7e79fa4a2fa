"""Derivatives of Fourier transforms between real and complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike


def fft_r2c_backward(
    k: Namespace,
    grad: TensorLike,
    dim: Sequence[int],
    normalization: int,
    onesided: bool,
    sizes: Sequence[int],
) -> Any:
    """Return the gradient of a transform of real numbers: the real part of the other transform of
    `grad`, in which there is nothing where `onesided` left frequencies out.
    """
    if onesided:
        last = dim[-1] % grad.ndim
        missing = sizes[last] - grad.shape[last]
        grad = k.constant_pad_nd(grad, [0, 0] * (grad.ndim - 1 - last) + [0, missing], 0)
    return k.real(k._fft_c2c(grad, dim, normalization, False))


def fft_c2r_backward(k: Namespace, grad: TensorLike, dim: Sequence[int], normalization: int) -> Any:
    """Return the gradient of a transform to real numbers: the other transform of `grad`, twice
    where a frequency stands for its negative too.
    """
    result = k._fft_r2c(grad, dim, normalization, True)
    last = dim[-1] % grad.ndim
    size = result.shape[last]
    alone = 2 * size - grad.shape[last]  # the first, and of an even number the last
    if alone >= size:
        return result
    parts = [
        k.slice(result, last, 0, 1),
        k.mul(k.slice(result, last, 1, size - alone + 1), 2),
        *([k.slice(result, last, size - 1, size)] if alone > 1 else []),
    ]
    return k.cat(parts, last)
