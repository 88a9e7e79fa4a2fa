"""Elementwise transforms."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from ..functions.tensor_functions import broadcast_shapes
from ..nn.functional import softplus
from . import constraints
from .base_transforms import Transform
from .utils import _sum_rightmost, broadcast_all, holds_everywhere, lazy_property


class _Alike(Transform):
    """A transform without parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_Alike):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x."""
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: object, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and holds_everywhere(
            self.exponent.eq(other.exponent)
        )

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log |exponent * y / x|``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: object) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """Return the sigmoid of `x`, kept off 0 and 1."""
    limits = finfo(x.dtype)
    return aten.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Alike):
    """``y = 1 / (1 + exp(-x))``, clamped away from 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log y (1 - y)``."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Alike):
    """``y = log(1 + exp(x))``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log sigmoid(x)``."""
        return -softplus(-x)


class TanhTransform(_Alike):
    """``y = tanh(x)``."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return aten.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log(1 - tanh(x)**2)``, accurate even if the square rounds to 1."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Alike):
    """``y = |x|``; the inverse of y is y."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Parameters
    ----------
    loc, scale
        Numbers or tensors.
    event_dim
        Number of event dimensions of an argument. Default: 0.
    """

    bijective = True

    def __init__(self, loc: object, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """Number of event dimensions of an argument."""
        return self._event_dim

    def _space(self) -> Any:
        if not self.event_dim:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """All real numbers, vectors, …."""
        return self._space()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """All real numbers, vectors, …."""
        return self._space()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal(self.loc, other.loc)
            and _equal(self.scale, other.scale)
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``log |scale|``, summed over the event."""
        if isinstance(self.scale, Tensor):
            found = self.scale.abs().log()
        else:
            found = aten.full_like(x, math.log(abs(self.scale)))
        if self.event_dim:
            found = found.expand(broadcast_shapes(found.shape, x.shape))
            return _sum_rightmost(found, self.event_dim)
        return found.expand(x.shape)

    def forward_shape(self, shape: object) -> Any:
        return broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return one == other
    found = one == other
    return holds_everywhere(found) if isinstance(found, Tensor) else bool(found)


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``.

    Parameters
    ----------
    distribution
        A distribution of numbers.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: object, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
