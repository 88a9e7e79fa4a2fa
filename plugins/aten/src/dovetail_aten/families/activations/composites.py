"""Activation functions in terms of other operators."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F

from ...typing import Tensor

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805
"""Mean 0 and variance 1 are a fixed point of selu with these (Klambauer et al. 2017,
arXiv:1706.02515).
"""


def selu(self: Tensor) -> Any:
    """Return ``elu`` with the factors that normalize by themselves."""
    return F.elu(self, _SELU_ALPHA, _SELU_SCALE)


def selu_(self: Tensor) -> Any:
    """Write `selu` of a tensor into it."""
    return F.elu_(self, _SELU_ALPHA, _SELU_SCALE)


def relu6(self: Tensor) -> Any:
    """Return ``min(max(x, 0), 6)``."""
    return F.hardtanh(self, 0, 6)


def relu6_(self: Tensor) -> Any:
    """Write `relu6` of a tensor into it."""
    return F.hardtanh_(self, 0, 6)


def _check_slopes(lower: Any, upper: Any) -> None:
    for name, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, complex):
            raise RuntimeError(
                f"rrelu: {name} bound: value cannot be converted to type double without overflow, "
                f"got {bound}. Give a real number."
            )
        if not math.isfinite(bound):
            raise RuntimeError(
                f"rrelu: {name} bound must be finite, got {bound}. Give another bound."
            )
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound, but got "
            f"{lower} and {upper}. Swap them."
        )


def rrelu(
    self: Any,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> Any:
    """Return `self` where it is positive, else times a slope: in training one drawn for each
    element between `lower` and `upper`, else their mean (Xu et al. 2015, arXiv:1505.00853).
    """
    _check_slopes(lower, upper)
    if not training:
        return F.leaky_relu(self, (lower + upper) / 2)
    return F.mul(self, F._slopes_of_rrelu(self, lower, upper, generator))


def rrelu_(
    self: Any,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> Any:
    """Write `rrelu` of a tensor into it."""
    _check_slopes(lower, upper)
    if not training:
        return F.leaky_relu_(self, (lower + upper) / 2)
    return F.mul_(self, F._slopes_of_rrelu(self, lower, upper, generator))


def log_sigmoid(self: Tensor) -> Any:
    """Return the logarithm of the sigmoid."""
    return F.log_sigmoid_forward(self)[0]


def prelu(self: Tensor, weight: Tensor) -> Any:
    """Return `self` where positive, else `self` times `weight` of its channel."""
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype} and {weight.dtype}. Convert "
            "one."
        )
    if weight.numel() != 1:
        channels = self.shape[1] if self.ndim > 1 else 1
        if self.ndim == 0 or channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and "
                f"channel size = {channels}. Give one weight, or one per channel."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight.ndim}. Flatten it."
        )
    if weight.ndim == 1 and self.ndim != 1:
        shape = [1] * self.ndim
        if self.ndim > 1:
            shape[1] = weight.shape[0]
        weight = F.reshape(weight, shape)
    return F._prelu_kernel(self, weight)
