"""The von Mises distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import bool as bool_
from dovetail_kernel import float64

from .. import special
from . import constraints
from .distribution import Distribution
from .utils import attribute, lazy_property, validated

__all__ = ["VonMises"]

_LOG_TWO_PI = 1.8378770664093453


class VonMises(Distribution):
    """Von Mises distribution of angles around `loc`, with density proportional to
    ``exp(concentration * cos(angle - loc))``.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False
    mean = mode = attribute("loc")

    def __init__(
        self, loc: object, concentration: object, validate_args: bool | None = None
    ) -> None:
        self._set(validate_args, loc=loc, concentration=concentration)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that proposes angles."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # for small concentrations, where that cancels
        return aten.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples by rejection sampling, in double precision (Best and Fisher 1979,
        doi:10.2307/2346732), in double.
        """
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = (
            each.expand(shape) for each in (self._loc, self._concentration, self._proposal_r)
        )
        made = aten.empty(shape, dtype=float64, device=self.loc.device)
        done = aten.zeros(shape, dtype=bool_, device=self.loc.device)
        while not done.all():
            u1, u2, u3 = aten.rand((3, *shape), dtype=float64, device=self.loc.device).unbind()
            f = aten.cos(pi * u1)
            f = (1 + r * f) / (r + f)
            c = kappa * (r - f)
            accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            made = aten.where(accepted, (u3 - 0.5).sign() * f.acos(), made)
            done = done | accepted
        return ((made + pi + loc) % (2 * pi) - pi).to(self.loc.dtype)

    def _log_i0(self) -> Tensor:
        """Return the logarithm of the modified Bessel function of order 0."""
        return special.i0e(self.concentration).log() + self.concentration

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self.concentration * aten.cos(value - self.loc) - _LOG_TWO_PI - self._log_i0()

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the mean cosine."""
        ratio = special.i1e(self.concentration) / special.i0e(self.concentration)
        return 1 - ratio
