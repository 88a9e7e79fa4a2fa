"""Losses with margins, with PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Callable

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from ... import _nn
from .. import functional as F
from ..functional_arguments import reduced, reduction_code


@overridable
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``input`` where ``target`` is 1, and ``max(0, margin - input)`` where it is -1.

    Parameters
    ----------
    input : Tensor
        Distances, any shape.
    target : Tensor
        1 or -1, of a shape that broadcasts.
    margin : float, default 1.0
        Distance from which the loss of pairs with target -1 is 0.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
    """
    code = reduction_code(reduction, size_average, reduce)
    return aten.hinge_embedding_loss(input, target, margin, code)


@overridable
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, margin - target * (input1 - input2))``.

    Parameters
    ----------
    input1, input2 : Tensor
        Scores, with the same number of dimensions.
    target : Tensor
        1 where ``input1`` should be greater, -1 where ``input2`` should; with the same number of
        dimensions.
    margin : float, default 0
        Margin by which it should be greater.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.

    Raises
    ------
    RuntimeError
        If the numbers of dimensions differ.
    """
    code = reduction_code(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return aten.margin_ranking_loss(input1, input2, target, margin, code)


@overridable
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 minus the cosine of two vectors where ``target`` is 1, and ``max(0, cosine -
    margin)`` where it is -1.

    Parameters
    ----------
    input1, input2 : Tensor
        ``(N, D)`` or ``(D)``.
    target : Tensor
        ``(N)`` or ``()``: 1 or -1.
    margin : float, default 0
        Within [-1, 1].
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.

    Raises
    ------
    RuntimeError
        If the shapes are incompatible.
    """
    code = reduction_code(reduction, size_average, reduce)
    return aten.cosine_embedding_loss(input1, input2, target, margin, code)


@overridable
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``log(1 + exp(-target * input))``; targets are 1 or -1."""
    code = reduction_code(reduction, size_average, reduce)
    return _nn.soft_margin_loss(input, target, code)


@overridable
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, margin - input[target] + input) ** p``, averaged over the other classes.

    Parameters
    ----------
    input : Tensor
        Scores ``(N, C)`` or ``(C)``.
    target : Tensor
        Class indices ``(N)`` or ``()``, int64.
    p : {1, 2}
        The power.
    margin : float, default 1.0
        Margin by which the score of the target should exceed the others.
    weight : Tensor, optional
        ``(C)``: the weight of each class.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples.

    Raises
    ------
    ValueError
        For any other exponent.
    RuntimeError
        If shapes or dtypes are incompatible, or if a class does not exist.
    """
    code = reduction_code(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, code)


@overridable
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, 1 - input[label] + input[other])`` summed over labels and the other classes,
    divided by the number of classes.

    Parameters
    ----------
    input : Tensor
        Scores ``(N, C)`` or ``(C)``.
    target : Tensor
        Tensor of the same shape: the labels of each sample, filled up with -1.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples.
    """
    code = reduction_code(reduction, size_average, reduce)
    return _nn.multilabel_margin_loss(input, target, code)


@overridable
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the binary cross entropy between logits and targets, averaged over the classes.

    Parameters
    ----------
    input, target : Tensor
        ``(N, C)`` or ``(C)``; targets are 0 or 1.
    weight : Tensor, optional
        Multiplies the loss of each class; broadcast.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples.
    """
    code = reduction_code(reduction, size_average, reduce)
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    classes = input.dim() - 1
    return reduced(loss.sum(classes) / input.size(classes), code)


@overridable
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``; d is
    `pairwise_distance`.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        ``(N, D)`` or ``(D)``.
    margin : float, default 1.0
        Greater than 0.
    p, eps : float
        Options of `pairwise_distance`.
    swap : bool, default False
        Whether to use ``d(positive, negative)`` if it is less than ``d(anchor, negative)``.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples.

    Raises
    ------
    ValueError
        If ``margin`` is not greater than 0.
    RuntimeError
        If the numbers of dimensions differ.
    """
    code = reduction_code(reduction, size_average, reduce)
    _check_margin(margin)
    return aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with a custom distance.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        Tensors with the same number of dimensions.
    distance_function : callable, optional
        Distance of two tensors. Default: `pairwise_distance`.
    margin : float, default 1.0
        Greater than 0.
    swap : bool, default False
        Whether to use ``d(positive, negative)`` if it is less than ``d(anchor, negative)``.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples.

    Raises
    ------
    ValueError
        If ``margin`` is not greater than 0, or for another reduction.
    RuntimeError
        If the numbers of dimensions differ.
    """
    code = reduction_code(reduction)
    _check_margin(margin)
    distance = aten.pairwise_distance if distance_function is None else distance_function
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
            "inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = aten.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), code)
