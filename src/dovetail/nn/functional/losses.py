"""Losses of classes and of numbers, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from ..functional_arguments import REDUCTIONS, reduction_code, warn_if_broadcast

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]


@overridable
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy between logits and classes.

    Parameters
    ----------
    input : Tensor
        Logits ``(C)``, ``(N, C)`` or ``(N, C, d1, …)``.
    target : Tensor
        Class indices of shape ``()``, ``(N)`` or ``(N, d1, …)``, or class probabilities of the
        input's shape.
    weight : Tensor, optional
        ``(C)``: the weight of each class.
    ignore_index : int, default -100
        This target contributes nothing.
    reduction : {'mean', 'sum', 'none'}
        'mean' is weighted by ``weight``.
    label_smoothing : float, default 0.0
        Within [0, 1]: how far to mix the targets with the uniform distribution.

    Raises
    ------
    ValueError
        For another reduction.
    RuntimeError
        For shapes that do not fit or a label smoothing out of range.
    """
    code = REDUCTIONS.get(reduction)
    if code is None or size_average is not None or reduce is not None:
        code = reduction_code(reduction, size_average, reduce)
    result: Tensor = _nn.cross_entropy_loss(
        input, target, weight, code, ignore_index, label_smoothing
    )
    return result


@overridable
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of classes; ``input`` holds log-probabilities, else as
    `cross_entropy`.
    """
    code = reduction_code(reduction, size_average, reduce)
    operator = _nn.nll_loss if input.dim() <= 2 else _nn.nll_loss_nd
    result: Tensor = operator(input, target, weight, code, ignore_index)
    return result


@overridable
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean (or sum, or each) of ``(input - target) ** 2``; warns if the shapes
    differ.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.mse_loss(input, target, code)
    return result


@overridable
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean (or sum, or each) of ``|input - target|``; warns if the shapes differ."""
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.l1_loss(input, target, code)
    return result


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
    input, target : Tensor
        Of one shape; warns if they broadcast.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    beta : float, default 1.0
        Where ``0.5 * (input - target) ** 2 / beta`` goes over into ``|input - target| - 0.5 *
        beta``. 0: `l1_loss`.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.smooth_l1_loss(input, target, code, beta)
    return result


@overridable
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy between ``sigmoid(input)`` and probabilities, computed stably.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; targets within [0, 1].
    weight : Tensor, optional
        Multiplies each element's loss; broadcast.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    pos_weight : Tensor, optional
        Weight of the positive class; broadcast.

    Raises
    ------
    ValueError
        If the shapes differ, or for another reduction.
    """
    code = reduction_code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()}). "
            "Reshape one of them."
        )
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)
