"""The F distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import validated

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """F distribution with `df1` and `df2` degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: object, df2: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        """``df2 / (df2 - 2)``, or NaN up to ``df2 == 2``."""
        df2 = self.df2.masked_fill(self.df2 <= 2, nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """``(df1 - 2) / df1 * df2 / (df2 + 2)``, or NaN up to ``df1 == 2``."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, nan)

    @property
    def variance(self) -> Tensor:
        """The variance, or NaN up to ``df2 == 4``."""
        df2 = self.df2.masked_fill(self.df2 <= 4, nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return quotients of gamma-distributed numbers."""
        above, below = (each.rsample(sample_shape) for each in (self._gamma1, self._gamma2))
        tiny = finfo(below.dtype).tiny
        below.detach().clamp_(min=tiny)
        made = above / below
        made.detach().clamp_(min=tiny)
        return made

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return (
            (half1 + half2).lgamma()
            - half1.lgamma()
            - half2.lgamma()
            + half1 * ratio.log()
            + (half1 - 1) * aten.log(value)
            - (half1 + half2) * aten.log1p(ratio * value)
        )
