"""Losses, each beside its backward kernel. Reductions are numbered: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail_kernel import int64, result_dtype, uint8
from dovetail_kernel.types.dtype import FLOAT

from .capabilities import Capabilities
from .dtype_errors import float_only
from .operands import Numbers, Precision
from .table import KernelTable

NONE, MEAN, SUM = range(3)
_FEW = 1 << 14
"""Elements up to which comparing all of them is faster than putting a few into zeros."""


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_differences(xp, kernel, capabilities)
    _define_cross_entropy(xp, kernel, capabilities)
    _define_likelihood(xp, kernel, capabilities)


def _reduced(loss: Any, reduction: int) -> Any:
    if reduction == NONE:
        return loss
    total = loss.sum(None)
    if reduction == SUM:
        return total
    if reduction != MEAN:
        raise RuntimeError(
            f"{reduction} is not a reduction. Give 0 for none, 1 for the mean or 2 for the sum."
        )
    return total / (loss.size or math.nan)


def _define_differences(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision, dtypes = Numbers(capabilities), Precision(capabilities), capabilities.dtypes
    subtract, multiply = xp.subtract, xp.multiply
    full = (
        frozenset(each for each, dtype in dtypes.items() if dtype.category == FLOAT)
        - precision.halves
    )

    def common(name: str, self: Any, target: Any) -> tuple[Any, Any]:
        """Return the operands in their common dtype, where the dispatcher has not promoted them."""
        sized = [dtypes[each.dtype] for each in (self, target) if each.ndim]
        own = result_dtype(
            sized, [dtypes[each.dtype] for each in (self, target) if not each.ndim], []
        )
        if own.category != FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{own.scalar_name}'. Convert to a floating-point "
                "dtype first."
            )
        native = capabilities.native_dtypes[own]
        return self.astype(native, copy=False), target.astype(native, copy=False)

    def away_from(name: str, self: Any, target: Any) -> Any:
        """Return ``self - target``."""
        if self.dtype != target.dtype or self.dtype not in full:
            self, target = common(name, self, target)
        return subtract(self, target)

    def in_single(
        name: str, function: Callable[..., Any], self: Any, target: Any, reduction: int, *more: Any
    ) -> Any:
        """Return a loss of half-precision operands, computed in single precision."""
        self, target = common(name, self, target)
        own = self.dtype
        if own not in precision.halves:
            return function(self, target, reduction, *more)
        return function(
            self.astype(precision.single), target.astype(precision.single), reduction, *more
        ).astype(own)

    @kernel.named("mse_loss")
    def mse_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
        if self.dtype != target.dtype or self.dtype not in full:
            return in_single("mse_cpu", mse_loss, self, target, reduction)
        away = subtract(self, target)
        return _reduced(multiply(away, away), reduction)

    @kernel.named("mse_loss_backward")
    @precision.widened
    def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
        away = away_from("mse_backward_cpu", self, target)
        factor = numbers.like(grad_output, 2 / (away.size or 1) if reduction == MEAN else 2)
        return multiply(away, multiply(grad_output, factor))

    @kernel.named("smooth_l1_loss")
    def smooth_l1_loss(self: Any, target: Any, reduction: int = MEAN, beta: float = 1.0) -> Any:
        if beta < 0:
            raise RuntimeError(
                "smooth_l1_loss does not support negative values for beta. Give 0 or more."
            )
        if self.dtype != target.dtype or self.dtype not in full:
            return in_single("smooth_l1_cpu", smooth_l1_loss, self, target, reduction, beta)
        size = xp.absolute(subtract(self, target))
        if beta == 0:
            return _reduced(size, reduction)
        # With the lesser of size and beta, one formula gives both the parabola and the lines.
        lesser = xp.minimum(size, numbers.like(size, beta))
        loss = multiply(lesser, subtract(size, multiply(lesser, numbers.like(size, 0.5))))
        return _reduced(loss if beta == 1 else loss / numbers.like(size, beta), reduction)

    @kernel.named("smooth_l1_loss_backward")
    @precision.widened
    def smooth_l1_loss_backward(
        grad_output: Any, self: Any, target: Any, reduction: int, beta: float
    ) -> Any:
        away = away_from("smooth_l1_backward_cpu", self, target)
        if beta == 0:
            slope = xp.sign(away)
        else:
            bound = numbers.like(away, beta)
            slope = xp.minimum(xp.maximum(away, numbers.like(away, -beta)), bound)
            slope = slope if beta == 1 else slope / bound
        if reduction == MEAN:
            grad_output = multiply(grad_output, numbers.like(grad_output, 1 / (away.size or 1)))
        return multiply(slope, grad_output)


def _define_cross_entropy(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision, check_float = (
        Numbers(capabilities),
        Precision(capabilities),
        float_only(capabilities),
    )
    add, multiply, subtract, negative = xp.add, xp.multiply, xp.subtract, xp.negative

    @kernel.named("binary_cross_entropy_with_logits")
    @precision.widened
    def binary_cross_entropy_with_logits(
        self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = MEAN
    ) -> Any:
        check_float("log_sigmoid_cpu", self)
        if self.dtype in precision.complex:
            raise NotImplementedError(
                '"log_sigmoid_cpu" not implemented for '
                f"'{capabilities.dtypes[self.dtype].scalar_name}'. "
                "Take the real part."
            )
        one = numbers.like(self, 1)
        # log(1 + exp(-|x|)) + max(-x, 0) is -log sigmoid(x), without overflow for large x of either
        # sign.
        tail = xp.log1p(xp.exp(negative(xp.absolute(self))))
        tail = add(tail, xp.maximum(negative(self), numbers.like(self, 0)))
        if pos_weight is not None:
            tail = multiply(tail, add(multiply(subtract(pos_weight, one), target), one))
        loss = add(multiply(subtract(one, target), self), tail)
        return _reduced(loss if weight is None else multiply(loss, weight), reduction)


def _define_likelihood(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision, dtypes = Numbers(capabilities), Precision(capabilities), capabilities.dtypes
    long, unsigned = capabilities.native_dtypes[int64], xp.dtype(xp.uint64)
    floats = frozenset(each for each, dtype in dtypes.items() if dtype.category == FLOAT)

    def check(self: Any, target: Any, weight: Any) -> None:
        if not 1 <= self.ndim <= 2:
            raise RuntimeError(
                "input tensor should be 1D or 2D. Move other dimensions into the first."
            )
        if target.ndim > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported. Flatten the target."
            )
        # One sample may come with a target of one element.
        if (self.ndim == 1 and target.size != 1) or (
            self.ndim == 2 and tuple(target.shape) != tuple(self.shape[:1])
        ):
            raise RuntimeError(
                f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)}). "
                "Give one class for every sample."
            )
        if dtypes[target.dtype] not in (int64, uint8):
            raise RuntimeError(
                "expected target dtype to be Long or Byte, but got "
                f"{dtypes[target.dtype].scalar_name}. Convert it."
            )
        if self.dtype not in floats:
            raise NotImplementedError(
                f"\"nll_loss_out_frame\" not implemented for '{dtypes[self.dtype].scalar_name}'. "
                "Convert to a floating-point dtype first."
            )
        if weight is None:
            return
        if tuple(weight.shape) != tuple(self.shape[-1:]):
            raise RuntimeError(
                f"weight tensor should be defined either for all {self.shape[-1]} classes or no "
                "classes but got weight "
                f"tensor of shape: {list(weight.shape)}. Give one weight for every class."
            )
        if weight.dtype != self.dtype:
            own, other = dtypes[self.dtype].scalar_name, dtypes[weight.dtype].scalar_name
            raise RuntimeError(f"expected scalar type {own} but found {other}. Convert the weight.")

    def chosen(
        classes: Any, count: int, weight: Any, ignore_index: int, own: Any
    ) -> tuple[Any, Any, Any]:
        """Return which samples count, their classes (0 for the others), and their weights (0 for
        the others).
        """
        counted = classes != ignore_index
        classes = xp.where(counted, classes, numbers.like(classes, 0))
        wrong = xp.logical_or(classes < 0, classes >= count)
        if bool(wrong.any()):
            raise IndexError(
                f"Target {int(classes[wrong][0])} is out of bounds. There are {count} classes."
            )
        if weight is None:
            return counted, classes, counted.astype(own)
        return (
            counted,
            classes,
            xp.where(counted, weight[classes].astype(own), numbers.of_dtype(0, own)),
        )

    def all_count(self: Any, target: Any, weight: Any, ignore_index: int) -> bool:
        """Return whether the samples are many, all count alike, and need no wider dtype; then fewer
        passes suffice.
        """
        if (
            weight is not None
            or target.dtype != long
            or self.dtype in precision.halves
            or not target.ndim == 1 < self.ndim
        ):
            return False
        samples, count = self.shape
        # Read as unsigned, a negative class is beyond the last one too.
        return bool(
            samples and not 0 <= ignore_index < count and target.view(unsigned).max() < count
        )

    def forward_of_all(self: Any, classes: Any, reduction: int) -> tuple[Any, Any]:
        samples = len(classes)
        picked = self[xp.arange(samples), classes]
        if reduction == NONE:
            return xp.negative(picked), xp.zeros((), self.dtype)
        total = -picked.sum(None)
        return (total / samples if reduction == MEAN else total), xp.asarray(samples, self.dtype)

    @kernel.named("nll_loss_forward")
    def nll_loss_forward(
        self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        check(self, target, weight)
        own = self.dtype
        if all_count(self, target, weight, ignore_index):
            return forward_of_all(self, target, reduction)
        rows = self if self.ndim == 2 else self.reshape(1, -1)
        samples, count = rows.shape
        wide = precision.single if own in precision.halves else own
        counted, classes, weights = chosen(
            target.reshape(-1).astype(long), count, weight, ignore_index, wide
        )
        if count:
            picked = rows[xp.arange(samples), classes].astype(wide, copy=False)
            losses = xp.where(counted, xp.negative(picked) * weights, numbers.of_dtype(0, wide))
        else:
            losses = xp.zeros(samples, wide)
        if reduction == NONE and self.ndim == 2:
            return losses.astype(own, copy=False), xp.zeros((), own)
        total, total_weight = losses.sum(None), weights.sum(None)
        if reduction == MEAN:
            total = total / total_weight
        return total.astype(own, copy=False), total_weight.astype(own, copy=False)

    @kernel.named("nll_loss_backward")
    def nll_loss_backward(
        grad_output: Any,
        self: Any,
        target: Any,
        weight: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        check(self, target, weight)
        of_samples = reduction == NONE and self.ndim == 2
        if grad_output.size != (target.size if of_samples else 1):
            expected = (
                f"one element for each of {target.size} samples"
                if of_samples
                else "a single element"
            )
            raise RuntimeError(
                f"Expected {expected} grad_output tensor, but got: {list(grad_output.shape)}."
            )
        own, shape, count = self.dtype, self.shape, self.shape[-1]
        wide = precision.single if own in precision.halves else own
        classes = target.reshape(-1).astype(long, copy=False)
        slope = xp.negative(grad_output.reshape(-1).astype(wide, copy=False))
        if reduction == MEAN:
            slope = slope / total_weight.astype(wide, copy=False)
        if not all_count(self, target, weight, ignore_index):
            counted, classes, weights = chosen(classes, count, weight, ignore_index, wide)
            slope = xp.where(counted, slope * weights, numbers.of_dtype(0, wide)).astype(
                own, copy=False
            )
        if self.size <= _FEW:
            here = xp.equal(classes[:, None], xp.arange(count))
            return xp.where(here, slope[:, None], numbers.of_dtype(0, own)).reshape(shape)
        key = (xp.arange(len(classes)), classes)
        return capabilities.index_put(
            xp.zeros((len(classes), count), own), key, slope, False
        ).reshape(shape)

    @kernel.helper("cross_entropy")
    def cross_entropy(
        self: Any, target: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any, Any]:
        """Return the loss, the logarithms of the probabilities, and the weight of all samples."""
        logarithms = kernel.kernels["_log_softmax"].fn(self, 1, False)
        loss, total = kernel.kernels["nll_loss_forward"].fn(
            logarithms, target, None, reduction, ignore_index
        )
        # An array, that it can be written to: namespaces make numbers of sums over everything.
        return xp.asarray(loss), logarithms, total

    @kernel.helper("cross_entropy_backward")
    def cross_entropy_backward(
        grad_output: Any,
        output: Any,
        target: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        """Return the gradient of the logits; `output` are the logarithms of the probabilities."""
        grad = kernel.kernels["nll_loss_backward"].fn(
            grad_output, output, target, None, reduction, ignore_index, total_weight
        )
        return kernel.kernels["_log_softmax_backward_data"].fn(grad, output, 1, output.dtype)
