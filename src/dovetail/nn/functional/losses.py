"""Losses of classes and of probabilities, with PyTorch's signatures."""

from __future__ import annotations

import warnings

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from ...tensor_functions import broadcast_shapes
from ..functional_arguments import REDUCTIONS, reduction_code

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "nll_loss",
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
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``-target * log(input) - (1 - target) * log(1 - input)``; a logarithm is at least
    -100.

    Parameters
    ----------
    input, target : Tensor
        Of one shape, within [0, 1].
    weight : Tensor, optional
        Multiplies each element's loss; broadcast.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.

    Raises
    ------
    ValueError
        If the shapes differ, or for another reduction.
    RuntimeError
        If an element is not within [0, 1].
    """
    code = reduction_code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.size(), weight.size()))
    result: Tensor = _nn.binary_cross_entropy(input, target, weight, code)
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


@overridable
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence ``target * (log(target) - input)``.

    Parameters
    ----------
    input : Tensor
        Logarithms of probabilities, any shape.
    target : Tensor
        Probabilities, or with ``log_target`` their logarithms, of a shape that broadcasts.
    reduction : {'mean', 'batchmean', 'sum', 'none'}
        How to combine the elements; 'batchmean' divides the sum by the size of the first dimension,
        and 'mean' warns that it does not.
    log_target : bool, default False
        Whether the target is given as logarithms.
    """
    by_batch = reduction == "batchmean" and size_average is None and reduce is None
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=2,
        )
    code = reduction_code("sum" if by_batch else reduction, size_average, reduce)
    divergence = aten.kl_div(input, target, code, log_target=log_target)
    return divergence / input.size(0) if by_batch and input.dim() else divergence
