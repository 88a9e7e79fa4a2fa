"""Student's t distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, pi

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, attribute, validated

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, location `loc` and `scale`."""

    arg_constraints = {  # noqa: RUF012
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    mode = attribute("loc")

    def __init__(
        self, df: object, loc: object = 0.0, scale: object = 1.0, validate_args: bool | None = None
    ) -> None:
        self._set(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        """`loc`; NaN for at most one degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def variance(self) -> Tensor:
        """``scale ** 2 * df / (df - 2)``; infinite for at most 2 degrees of freedom, NaN for at
        most 1.
        """
        found = self.scale.pow(2) * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, inf).masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * aten.rsqrt(z / self.df))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        log_z = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * aten.log(aten.full_like(self.df, pi))
            + aten.lgamma(0.5 * self.df)
            - aten.lgamma(0.5 * (self.df + 1))
        )
        return -0.5 * (self.df + 1) * aten.log1p(y**2 / self.df) - log_z

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        log_beta = (
            aten.lgamma(0.5 * self.df)
            + aten.lgamma(aten.full_like(self.df, 0.5))
            - aten.lgamma(half)
        )
        slope = aten.digamma(half) - aten.digamma(0.5 * self.df)
        return self.scale.log() + half * slope + 0.5 * self.df.log() + log_beta
