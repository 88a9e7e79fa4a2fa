"""The Poisson distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from . import constraints
from .exp_family import ExponentialFamily
from .utils import attribute, validated

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Poisson distribution with mean `rate`."""

    arg_constraints = {"rate": constraints.nonnegative}  # noqa: RUF012
    support = constraints.nonnegative_integer
    mean = variance = attribute("rate")

    def __init__(self, rate: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, rate=rate)

    @property
    def mode(self) -> Tensor:
        """The rate, rounded down."""
        return self.rate.floor()

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return aten.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = aten.broadcast_tensors([self.rate, value])
        return aten.xlogy(value, rate) - rate - aten.lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (aten.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return aten.exp(x)
