"""The Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Pareto distribution: numbers from `scale`, with density proportional to ``x ** -(alpha +
    1)``.
    """

    arg_constraints = {  # noqa: RUF012
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }

    def __init__(self, scale: object, alpha: object, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(
            Exponential(self.alpha, validate_args=validate_args),
            [ExpTransform(), AffineTransform(loc=0, scale=self.scale)],
            validate_args=validate_args,
        )

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        super()._expand_into(new, batch_shape)
        new.transforms = [ExpTransform(), AffineTransform(loc=0, scale=new.scale)]

    @property
    def mean(self) -> Tensor:
        """``alpha * scale / (alpha - 1)``, infinite up to ``alpha == 1``."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        """The parameter `scale`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance, infinite up to ``alpha == 2``."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from `scale`."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        """Return ``log(scale / alpha) + 1 + 1 / alpha``."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
