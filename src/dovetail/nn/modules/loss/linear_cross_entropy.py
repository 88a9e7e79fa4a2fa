"""Cross entropy of the results of a linear map as a module."""

from __future__ import annotations

import math

from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ... import functional as F
from ..linear import Linear
from ..linear_cross_entropy_options import LinearCrossEntropyOptions
from .base_losses import _WeightedLoss


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy between the logits computed by a linear layer, and classes.

    Parameters
    ----------
    in_features : int
        Features of the input ``(N, in_features)`` or ``(in_features)``.
    num_classes : int
        ``C``
    out_features : tuple of int, default ()
        ``d1, …`` of the logits ``(N, C, d1, …)``.
    bias : bool, default False
        Whether the linear layer has a bias.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.
    reduction, weight, ignore_index, label_smoothing, options
        As in `functional.linear_cross_entropy`; ``weight`` is a buffer.

    Attributes
    ----------
    linear : Linear
        From ``in_features`` to ``C * d1 * …``.

    Raises
    ------
    RuntimeError
        For a weight of the wrong size, or a label smoothing out of range.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, None, None, reduction)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        outputs = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        weight, bias = self.linear.weight, self.linear.bias
        return F.linear_cross_entropy(
            input,
            weight.reshape(*shape, weight.shape[-1]),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
