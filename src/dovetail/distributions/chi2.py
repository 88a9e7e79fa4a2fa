"""The chi-squared distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Chi-squared distribution with `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new.concentration = self.concentration.expand(batch_shape)
        new.rate = self.rate.expand(batch_shape)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
