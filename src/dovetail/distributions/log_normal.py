"""The log-normal distribution."""

from __future__ import annotations

from dovetail_aten import Tensor

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import attribute

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """Log-normal distribution: exponentials of normal numbers with mean `loc` and standard
    deviation `scale`.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True
    loc: Tensor = attribute("base_dist.loc", "The mean of the logarithm.")
    scale: Tensor = attribute("base_dist.scale", "The standard deviation of the logarithm.")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(loc, scale, validate_args=validate_args),
            ExpTransform(),
            validate_args=validate_args,
        )

    @property
    def mean(self) -> Tensor:
        """``exp(loc + scale ** 2 / 2)``."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        """``exp(loc - scale ** 2)``."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """``(exp(scale ** 2) - 1) * exp(2 * loc + scale ** 2)``."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        """Return the entropy of the logarithm, plus its mean."""
        return self.base_dist.entropy() + self.loc
