"""Losses with margins as modules; ``reduction`` is 'mean', 'sum' or 'none', and the size flags are
deprecated.
"""

from __future__ import annotations

from collections.abc import Callable

from dovetail_aten import Tensor

from ... import functional as F
from ..distance import PairwiseDistance
from .base_losses import _Loss, _WeightedLoss


class _MarginLoss(_Loss):
    """Losses with one number beside the reduction."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    Parameters
    ----------
    margin, reduction
        As for `functional.hinge_embedding_loss`.
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, -target * (input1 - input2) + margin)``, for targets 1 and -1.

    Parameters
    ----------
    margin, reduction
        As for `functional.margin_ranking_loss`.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos(input1, input2)`` where ``target`` is 1, ``max(0, cos(input1, input2) - margin)``
    where it is -1.

    Parameters
    ----------
    margin, reduction
        As for `functional.cosine_embedding_loss`.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``, for targets 1 and -1; 'mean' is over all elements."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several classes of a sample; see `functional.multilabel_margin_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Cross entropy of each class against the rest, as a mean over classes.

    Parameters
    ----------
    weight, reduction
        As for `functional.multilabel_soft_margin_loss`; the weight is a buffer.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """``sum(max(0, margin - input[target] + input[i]) ** p) / C`` over the other classes.

    Parameters
    ----------
    p, margin, weight, reduction
        As for `functional.multi_margin_loss`; the weight is a buffer.

    Raises
    ------
    ValueError
        For any other exponent, or a weight that is not a vector.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, but got p={p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, where d is the distance in
    the p-norm.

    Parameters
    ----------
    margin, p, eps, swap, reduction
        As for `functional.triplet_margin_loss`.

    Raises
    ------
    ValueError
        If ``margin`` is not greater than 0.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, for any distance.

    Parameters
    ----------
    distance_function : callable, optional
        Takes two tensors. Default: `PairwiseDistance`.
    margin, swap, reduction
        As for `functional.triplet_margin_loss`.

    Raises
    ------
    ValueError
        If ``margin`` is not greater than 0.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_margin(loss: _Loss, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead"
        )
