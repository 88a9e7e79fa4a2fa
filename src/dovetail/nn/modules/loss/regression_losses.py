"""Losses of numbers as modules; ``reduction`` is 'mean', 'sum' or 'none', and the size flags are
deprecated.
"""

from __future__ import annotations

from dovetail_aten import Tensor

from ... import functional as F
from .base_losses import _Loss

__all__ = ["GaussianNLLLoss", "HuberLoss", "L1Loss", "MSELoss", "PoissonNLLLoss", "SmoothL1Loss"]


class MSELoss(_Loss):
    """``(input - target) ** 2``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """``|input - target|``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Quadratic up to ``beta``, linear beyond.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    beta : float, default 1.0
        Boundary between the two formulas.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``0.5 * (input - target) ** 2`` up to ``delta``, and ``delta * (|input - target| - 0.5 *
    delta)`` beyond.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    delta : float, default 1.0
        Threshold between the two formulas; greater than 0.

    Raises
    ------
    TypeError
        If ``delta`` is not a number.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, float | int):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts under Poisson distributions; see
    `functional.poisson_nll_loss`.

    Parameters
    ----------
    log_input : bool, default True
        Whether inputs are the logarithms of the means.
    full : bool, default False
        Whether to add Stirling's approximation of ``log(target!)``.
    eps : float, default 1e-8
        Value added to an input before its logarithm.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Negative log likelihood under normal distributions: ``0.5 * (log(var) + (input - target) **
    2 / var)``.

    Parameters
    ----------
    full : bool, default False
        Whether to add the constant ``0.5 * log(2 * pi)``.
    eps : float, default 1e-6
        Lower bound of a variance.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )
