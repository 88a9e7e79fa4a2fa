"""Losses of classes and of probabilities, with PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import warn_user

from ... import _nn
from ...functions.tensor_functions import broadcast_shapes
from ..functional_arguments import REDUCTIONS, reduction_code


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
        Weight of the uniform distribution that is mixed into the targets, within [0, 1].

    Raises
    ------
    ValueError
        For any other reduction.
    RuntimeError
        For incompatible shapes or a label smoothing out of range.
    """
    code = REDUCTIONS.get(reduction)
    if code is None or size_average is not None or reduce is not None:
        code = reduction_code(reduction, size_average, reduce)
    return _nn.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


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
    return _nn.nll_loss_nd(input, target, weight, code, ignore_index)


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
        Tensors of one shape, within [0, 1].
    weight : Tensor, optional
        Multiplies each element's loss; broadcast.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.

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
    return _nn.binary_cross_entropy(input, target, weight, code)


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
        Tensors of one shape; targets within [0, 1].
    weight : Tensor, optional
        Multiplies each element's loss; broadcast.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the elements.
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
        Reduction over the elements; 'batchmean' divides the sum by the size of the first dimension,
        and 'mean' warns because it divides by the number of elements.
    log_target : bool, default False
        Whether the target contains log-probabilities.
    """
    by_batch = reduction == "batchmean" and size_average is None and reduce is None
    if reduction == "mean" and size_average is None and reduce is None:
        warn_user(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release."
        )
    code = reduction_code("sum" if by_batch else reduction, size_average, reduce)
    divergence = aten.kl_div(input, target, code, log_target=log_target)
    return divergence / input.size(0) if by_batch and input.dim() else divergence


@overridable
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the negative log likelihood of label sequences, summed over all alignments with the
    input.

    Parameters
    ----------
    log_probs : Tensor
        ``(T, N, C)`` or ``(T, C)``, the output of `log_softmax`; only the gradient with respect to
        its input is correct.
    targets : Tensor
        ``(N, S)``, or concatenated in one dimension; without the blank.
    input_lengths, target_lengths : Tensor or sequence of int
        ``(N)`` or ``()``: the length of each sample.
    blank : int, default 0
        The class that represents no label.
    reduction : {'mean', 'sum', 'none'}
        Reduction over the samples; 'mean' first divides each loss by the length of its target.
    zero_infinity : bool, default False
        Whether the loss of targets that are too long for their input is 0 instead of infinite.

    Raises
    ------
    RuntimeError
        If shapes, lengths or dtypes are incompatible.
    """
    code = reduction_code(reduction)
    inputs: Any = input_lengths
    lengths: Any = target_lengths
    return aten.ctc_loss(log_probs, targets, inputs, lengths, blank, code, zero_infinity)


@overridable
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """Return the cross entropy between logits, which are ``linear(input, linear_weight)``, and
    classes.

    Parameters
    ----------
    input : Tensor
        ``(N, in_features)`` or ``(in_features)``.
    linear_weight : Tensor
        ``(C, d1, …, in_features)``.
    target : Tensor
        As in `cross_entropy`, of logits ``(N, C, d1, …)``.
    linear_bias : Tensor, optional
        ``(C, d1, …)``
    weight, reduction, label_smoothing
        As in `cross_entropy`.
    ignore_index : int, optional
        This target contributes nothing. Default: -100, for class indices.
    options
        Accepted and ignored: in PyTorch, they split the batch into chunks that need less memory.
        Here all logits are computed at once, and all derivatives are supported.

    Raises
    ------
    RuntimeError
        For incompatible shapes, or an ``ignore_index`` with probabilities.
    """
    _check_linear(input, linear_weight, linear_bias)
    if ignore_index is not None and target.dtype.is_floating_point:
        raise RuntimeError(
            "ignore_index cannot be specified when target contains probabilities. Leave it out."
        )
    if linear_weight.dim() == 2:
        logits = _nn.linear(input, linear_weight)
    else:
        outputs = linear_weight.size()[:-1]
        logits = _nn.linear(input, linear_weight.flatten(0, -2))
        logits = logits.reshape((*input.size()[:-1], *outputs))
    return cross_entropy(
        logits if linear_bias is None else logits + linear_bias,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"expected input with dimensionality 1 or 2, got {input.dim()}. Flatten the batch."
        )
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}. Give "
            "(C, in_features)."
        )
    if input.size(-1) != weight.size(-1):
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {weight.size(-1)}, respectively. Transpose the weight."
        )
    if weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.size())} requires "
            f"batched input, (N, {input.size(-1)}), got unbatched input with shape "
            f"{tuple(input.size())}. Add a dimension."
        )
    if bias is not None and bias.size() != weight.size()[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(weight.size()[:-1])}, got {tuple(bias.size())}. "
            "Give one number for each output."
        )
