"""Loss functions as modules; ``reduction`` is 'mean', 'sum' or 'none', and the size flags are
deprecated.
"""

from __future__ import annotations

from dovetail_aten import Tensor

from . import functional as F
from .functional_arguments import legacy_reduction
from .module import Module

__all__ = ["BCEWithLogitsLoss", "CrossEntropyLoss", "L1Loss", "MSELoss", "NLLLoss", "SmoothL1Loss"]


class _Loss(Module):
    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = legacy_reduction(size_average, reduce) if legacy else reduction


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
        How to combine the elements.
    beta : float, default 1.0
        Where the one goes over into the other.
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


class NLLLoss(_Loss):
    """Negative log likelihood of class indices under log-probabilities.

    Parameters
    ----------
    weight : Tensor, optional
        ``(C)``: the weight of each class; a buffer.
    ignore_index : int, default -100
        This target contributes nothing.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_Loss):
    """Cross entropy between logits and class indices or class probabilities.

    Parameters
    ----------
    weight : Tensor, optional
        ``(C)``: the weight of each class; a buffer.
    ignore_index : int, default -100
        This target contributes nothing.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    label_smoothing : float, default 0.0
        Within [0, 1]: how far to mix the targets with the uniform distribution.
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            None,
            self.ignore_index,
            None,
            self.reduction,
            self.label_smoothing,
        )


class BCEWithLogitsLoss(_Loss):
    """Cross entropy between ``sigmoid(input)`` and probabilities, computed stably.

    Parameters
    ----------
    weight : Tensor, optional
        Multiplies each element's loss; a buffer.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    pos_weight : Tensor, optional
        Weight of the positive class; a buffer.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
