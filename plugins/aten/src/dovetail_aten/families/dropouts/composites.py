"""Dropout: of elements or of whole channels, to zero or to what keeps mean and variance."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F

from ...tensor.creation.factory import LikeFactory
from ...typing import Tensor

_empty_like = LikeFactory("empty_like")
_ALPHA = 1.7580993408473766
"""Minus the limit of selu, to which alpha dropout sets what it drops."""


def dropout(input: Tensor, p: float, train: bool) -> Any:
    """Return `input` with elements zeroed with probability `p` and the rest scaled, while
    training.
    """
    if not _drops(input, p, train):
        return input
    if input.is_cuda and p < 1 and not input.is_complex():  # one launch
        return F.native_dropout(input, p, True)[0]
    return F.mul(input, _scaled(input, tuple(input.shape), p))


def dropout_(self: Tensor, p: float, train: bool) -> Any:
    """Write `dropout` of a tensor into it."""
    if not _drops(self, p, train):
        return self
    return F.mul_(self, _scaled(self, tuple(self.shape), p))


def feature_dropout(input: Tensor, p: float, train: bool) -> Any:
    """Return `dropout` of whole channels, the first two dimensions."""
    if not _drops(input, p, train):
        return input
    return F.mul(input, _scaled(input, _channels(input), p))


def feature_dropout_(self: Tensor, p: float, train: bool) -> Any:
    """Write `feature_dropout` of a tensor into it."""
    if not _drops(self, p, train):
        return self
    return F.mul_(self, _scaled(self, _channels(self), p))


def alpha_dropout(input: Tensor, p: float, train: bool) -> Any:
    """Return `input` with elements set to the limit of selu with probability `p`, then scaled and
    shifted to the mean and variance it had (Klambauer et al. 2017, arXiv:1706.02515).
    """
    if not _drops(input, p, train):
        return input
    return _with_alpha(input, tuple(input.shape), p)


def alpha_dropout_(self: Tensor, p: float, train: bool) -> Any:
    """Write `alpha_dropout` of a tensor into it."""
    if not _drops(self, p, train):
        return self
    return _with_alpha_in_place(self, tuple(self.shape), p)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Any:
    """Return `alpha_dropout` of whole channels, the first two dimensions."""
    if not _drops(input, p, train):
        return input
    return _with_alpha(input, _channels(input), p)


def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Any:
    """Write `feature_alpha_dropout` of a tensor into it."""
    if not _drops(self, p, train):
        return self
    return _with_alpha_in_place(self, _channels(self), p)


def _drops(input: Tensor, p: float, train: bool) -> bool:
    """Return whether elements may be dropped. Raises RuntimeError if `p` is not a probability."""
    if not 0 <= p <= 1:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {p}. Choose one between."
        )
    return p != 0 and train and input.numel() != 0


def _channels(input: Tensor) -> tuple[int, ...]:
    """Return the shape of one number for each channel."""
    if input.ndim < 2:
        raise RuntimeError(
            "Feature dropout requires at least 2 dimensions in the input. Use dropout, or put the "
            "channels into dimension 1."
        )
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _kept(input: Tensor, shape: tuple[int, ...], p: float) -> Any:
    """Return 1 with probability ``1 - p``, else 0."""
    if shape == tuple(input.shape):
        noise: Any = _empty_like(input, memory_format=None, requires_grad=False, options={})
    else:
        noise = F.new_empty(input, shape)
    return F.bernoulli_(noise, 1 - p)


def _scaled(input: Tensor, shape: tuple[int, ...], p: float) -> Any:
    """Return what the elements are multiplied with."""
    return F.new_zeros(input, ()) if p == 1 else F.div_(_kept(input, shape, p), 1 - p)


def _factor_and_shift(input: Tensor, shape: tuple[int, ...], p: float) -> tuple[Any, Any]:
    """Return what alpha dropout multiplies the elements with, and what it adds."""
    kept = _kept(input, shape, p)
    scale = 1 / math.sqrt((_ALPHA**2 * p + 1) * (1 - p))
    shift = F.add_(F.mul_(F.sub(kept, 1), _ALPHA * scale), _ALPHA * scale * p)
    return F.mul(kept, scale), shift


def _with_alpha(input: Tensor, shape: tuple[int, ...], p: float) -> Any:
    if p == 1:
        return F.mul(input, F.new_zeros(input, ()))
    factor, shift = _factor_and_shift(input, shape, p)
    return F.add(F.mul(input, factor), shift)


def _with_alpha_in_place(self: Any, shape: tuple[int, ...], p: float) -> Any:
    if p == 1:
        return F.mul_(self, F.new_zeros(self, ()))
    factor, shift = _factor_and_shift(self, shape, p)
    return F.add_(F.mul_(self, factor), shift)
