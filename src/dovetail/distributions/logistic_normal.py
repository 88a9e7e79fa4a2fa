"""The logistic-normal distribution."""

from __future__ import annotations

from dovetail_aten import Tensor

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform
from .utils import attribute

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Logistic-normal distribution on the simplex: a stick-breaking transform of normal vectors."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True
    loc: Tensor = attribute(
        "base_dist.base_dist.loc", "The mean of the underlying normal distribution."
    )
    scale: Tensor = attribute(
        "base_dist.base_dist.scale", "The standard deviations of the normal numbers."
    )

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)
