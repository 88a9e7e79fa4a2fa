"""Losses of numbers, with PyTorch's signatures."""

from __future__ import annotations

import math

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from ..functional_arguments import REDUCTIONS, reduced, reduction_code, warn_if_broadcast


@overridable
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean (or sum, or each) of ``(input - target) ** 2``.

    Parameters
    ----------
    input, target : Tensor
        Tensors of one shape; a warning is issued if they broadcast.
    size_average, reduce : bool, optional
        Deprecated flags for the reduction.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    weight : Tensor, optional
        A factor for each element, of the shape of ``input``; a mean divides by the sum of the
        factors.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    if weight is None:
        return _nn.mse_loss(input, target, code)
    return _weighted(input, _nn.mse_loss(input, target, REDUCTIONS["none"]), weight, code)


@overridable
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean (or sum, or each) of ``|input - target|``.

    Parameters
    ----------
    input, target, size_average, reduce, reduction, weight
        As for `mse_loss`.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    if weight is None:
        return _nn.l1_loss(input, target, code)
    return _weighted(input, _nn.l1_loss(input, target, REDUCTIONS["none"]), weight, code)


@overridable
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return the mean (or sum, or each) of a loss that is quadratic up to ``beta`` and linear
    beyond.

    Parameters
    ----------
    input, target, reduction
        As for `mse_loss`.
    beta : float, default 1.0
        Threshold between ``0.5 * (input - target) ** 2 / beta`` and ``|input - target| - 0.5 *
        beta``. 0 gives `l1_loss`.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    return _nn.smooth_l1_loss(input, target, code, beta)


@overridable
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean (or sum, or each) of a loss that is quadratic up to ``delta`` and linear
    beyond.

    Parameters
    ----------
    input, target, reduction
        As for `mse_loss`.
    delta : float, default 1.0
        Threshold between ``0.5 * (input - target) ** 2`` and ``delta * (|input - target| - 0.5 *
        delta)``; greater than 0.
    weight : Tensor, optional
        Multiplies each element's loss; of the input's shape.
    """
    code = reduction_code(reduction)
    warn_if_broadcast(input, target)
    if weight is None:
        return _nn.huber_loss(input, target, code, delta)
    _check_weight(input, weight)
    return reduced(weight * _nn.huber_loss(input, target, REDUCTIONS["none"], delta), code)


def _check_weight(input: Tensor, weight: Tensor) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def _weighted(input: Tensor, loss: Tensor, weight: Tensor, code: int) -> Tensor:
    """Return the loss of each element weighted, and combined: a mean is divided by the weights."""
    _check_weight(input, weight)
    loss = loss * weight
    return loss.sum() / weight.sum() if code == REDUCTIONS["mean"] else reduced(loss, code)


@overridable
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of counts under Poisson distributions.

    Parameters
    ----------
    input : Tensor
        Means of the distributions, or with ``log_input`` their logarithms; any shape.
    target : Tensor
        Counts.
    log_input : bool, default True
        Whether the loss is ``exp(input) - target * input`` instead of ``input - target * log(input
        + eps)``.
    full : bool, default False
        Whether to add Stirling's approximation of ``log(target!)`` for counts above 1.
    eps : float, default 1e-8
        Value added to an input before its logarithm.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    """
    code = reduction_code(reduction, size_average, reduce)
    return aten.poisson_nll_loss(input, target, log_input, full, eps, code)


@overridable
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of numbers under normal distributions: ``0.5 * (log(var) +
    (input - target) ** 2 / var)``.

    Parameters
    ----------
    input : Tensor
        Means, any shape.
    target : Tensor
        Samples, of a shape that broadcasts.
    var : Tensor or float
        Variances, of the shape of the input; the last dimension may be 1 or missing.
    full : bool, default False
        Whether to add the constant ``0.5 * log(2 * pi)``.
    eps : float, default 1e-6
        Lower bound of a variance; the gradient ignores the bound.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.

    Raises
    ------
    ValueError
        If a variance is negative or has an incompatible shape, or for another reduction.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * aten.ones_like(input)
    elif var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not _differs_in_one_dimension(input, var):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    bounded = var.clone()
    bounded.detach().clamp_(min=eps)
    loss = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return reduced(loss, REDUCTIONS[reduction])


def _differs_in_one_dimension(input: Tensor, var: Tensor) -> bool:
    """Say whether the variances are those of the input but for one dimension of 1."""
    if input.dim() != var.dim():
        return False
    pairs = zip(input.size(), var.size(), strict=True)
    return [of_var for of_input, of_var in pairs if of_input != of_var] == [1]
