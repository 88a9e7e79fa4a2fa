"""Losses, each beside its backward kernel. Reductions are numbered: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype, promote_types, result_dtype
from dovetail_kernel.types import FLOAT

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import Family, operator, widened
from ....kernel_support.geometry.broadcasting import raise_misfit
from ....kernel_support.loss_reductions import MEAN, NONE, SUM
from ....kernel_support.table import Function, KernelTable
from ....typing import Array, Namespace


def check_target_dtype(own: dtype, target: dtype) -> None:
    """Raise an error for targets in whose dtype the loss of logits cannot be represented. Raises
    RuntimeError for targets that are neither floating-point nor complex.
    """
    if own.category >= FLOAT > target.category:
        raise RuntimeError(
            f"result type {own.scalar_name} can't be cast to the desired output type "
            f"{target.scalar_name}. Give targets of a floating-point dtype."
        )


class Losses(Family):
    """Losses between numbers, and of logits."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        floats = {each for each, dtype in self.dtypes.items() if dtype.category == FLOAT}
        self._full = frozenset(floats - self.precision.halves)
        self._bent = capabilities.compiled("huber_terms", self._huber_terms)
        self._limited = capabilities.compiled("clamp", self._between)
        self._softplus = capabilities.compiled("softplus", self._soft_positive)
        self._squares = capabilities.compiled("squared_differences", self._squared_differences)
        self._entropies = capabilities.compiled("binary_entropy_terms", self._binary_entropies)
        self._are_probabilities = capabilities.compiled("are_probabilities", self._are_from_0_to_1)
        self._sum = capabilities.compiled("sum", _sum)

    def _reduced(self, loss: Array, reduction: int, *operands: Array | None) -> Any:
        """Return a loss of every element of `operands` reduced as the number says. Raises
        RuntimeError if the number means no reduction.
        """
        if reduction == NONE:
            return self.in_order(loss, *operands)
        total = self._sum(loss)
        if reduction == SUM:
            return total
        if reduction != MEAN:
            raise RuntimeError(
                f"{reduction} is not a reduction. Give 0 for none, 1 for the mean or 2 for the sum."
            )
        return total / (loss.size or math.nan)

    def _common(self, name: str, x: Array, target: Array) -> tuple[Any, Any]:
        """Return the operands in their common dtype, where the dispatcher has not promoted them."""
        sized = [self.dtypes[each.dtype] for each in (x, target) if each.ndim]
        own = result_dtype(
            sized, [self.dtypes[each.dtype] for each in (x, target) if not each.ndim], []
        )
        if own.category != FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{own.scalar_name}'. Convert to a floating-point "
                "dtype first."
            )
        native = self.native_dtypes[own]
        return x.astype(native, copy=False), target.astype(native, copy=False)

    def _away_from(self, name: str, x: Array, target: Array) -> Any:
        """Return ``x - target``."""
        if x.dtype != target.dtype or x.dtype not in self._full:
            x, target = self._common(name, x, target)
        return self._difference(x, target)

    def _difference(self, x: Array, target: Array) -> Any:
        """Return ``x - target``. Raises RuntimeError if they do not broadcast, in PyTorch's
        words.
        """
        try:
            return self.xp.subtract(x, target)
        except (TypeError, ValueError) as error:
            raise_misfit(error, x, target)

    def _in_single(
        self, name: str, function: Function, x: Array, target: Array, reduction: int, *more: Any
    ) -> Any:
        """Return a loss of half-precision operands, computed in single precision."""
        x, target = self._common(name, x, target)
        own = x.dtype
        if own not in self.precision.halves:
            return function(x, target, reduction, *more)
        wide, narrow = self.precision.wide, self.precision.narrow
        return narrow(function(wide(x), wide(target), reduction, *more), own)

    @operator("mse_loss")
    def mse_loss(self, x: Array, target: Array, reduction: int = MEAN) -> Any:
        """Return the square of ``x - target``, reduced."""
        if x.dtype != target.dtype or x.dtype not in self._full:
            return self._in_single("mse_cpu", self.mse_loss, x, target, reduction)
        return self._reduced(self._squares(x, target), reduction, x, target)

    def _squared_differences(self, x: Array, target: Array) -> Any:
        """Return the square of ``x - target``."""
        away = self._difference(x, target)
        return self.xp.multiply(away, away)

    def _as_input(self, grad: Array, x: Array) -> Any:
        """Return a gradient of a loss in the dtype of its input `x`. Raises RuntimeError if the
        dtype cannot hold it.
        """
        if grad.dtype == x.dtype:
            return grad
        own, result = self.dtypes[x.dtype], self.dtypes[grad.dtype]
        if result.category > own.category:
            raise RuntimeError(
                f"result type {result.scalar_name} can't be cast to the desired output type "
                f"{own.scalar_name}. Convert the input of the loss first."
            )
        return grad.astype(x.dtype)

    @operator("mse_loss_backward")
    def mse_loss_backward(self, grad_output: Array, x: Array, target: Array, reduction: int) -> Any:
        """Return the gradient of `mse_loss`: ``2 * (x - target)``, divided by the number of
        elements for a mean.
        """
        return self._as_input(self._mse_gradient(grad_output, x, target, reduction), x)

    @widened
    def _mse_gradient(self, grad_output: Array, x: Array, target: Array, reduction: int) -> Any:
        """Return the gradient in the common dtype."""
        xp = self.xp
        away = self._away_from("mse_backward_cpu", x, target)
        grad_output = self._as_input(grad_output, away)
        factor = self.numbers.like(grad_output, 2 / (away.size or 1) if reduction == MEAN else 2)
        return xp.multiply(away, xp.multiply(grad_output, factor))

    @operator("smooth_l1_loss")
    def smooth_l1_loss(
        self, x: Array, target: Array, reduction: int = MEAN, beta: float = 1.0
    ) -> Any:
        """Return the Huber loss divided by beta, reduced: ``d ** 2 / (2 * beta)`` where d = abs(x -
        target) is less than `beta`, else ``d - beta / 2``.
        """
        xp = self.xp
        if not beta >= 0:
            raise RuntimeError(
                "smooth_l1_loss does not support negative values for beta. Give 0 or more."
            )
        if x.dtype != target.dtype or x.dtype not in self._full:
            return self._in_single("smooth_l1_cpu", self.smooth_l1_loss, x, target, reduction, beta)
        if beta == 0:
            loss = xp.absolute(self._difference(x, target))
            return self._reduced(loss, reduction, x, target)
        loss = self._bent(x, target, beta)
        loss = loss if beta == 1 else loss / self.numbers.like(loss, beta)
        return self._reduced(loss, reduction, x, target)

    def _huber_terms(self, x: Array, target: Array, bound: float) -> Any:
        """Return Huber's loss of every element."""
        xp = self.xp
        size = xp.absolute(self._difference(x, target))
        # With the lesser of size and bound, one formula gives both the parabola and the lines.
        lesser = xp.minimum(size, self.numbers.like(size, bound))
        half = xp.multiply(lesser, self.numbers.like(size, 0.5))
        return xp.multiply(lesser, xp.subtract(size, half))

    def _soft_positive(self, x: Array, beta: float, threshold: float) -> Any:
        """Return log(1 + exp(x)), without overflow for large x of either sign."""
        xp = self.xp
        tail = xp.log1p(xp.exp(xp.negative(xp.absolute(x))))
        return xp.add(tail, xp.maximum(x, self.numbers.like(x, 0)))

    def _between(self, x: Array, least: float, greatest: float) -> Any:
        """Return numbers limited to two bounds."""
        above = self.xp.maximum(x, self.numbers.like(x, least))
        return self.xp.minimum(above, self.numbers.like(x, greatest))

    @operator("smooth_l1_loss_backward")
    def smooth_l1_loss_backward(
        self, grad_output: Array, x: Array, target: Array, reduction: int, beta: float
    ) -> Any:
        """Return the gradient of `smooth_l1_loss`: ``(x - target) / beta``, limited to -1 and 1."""
        gradient = self._smooth_l1_gradient(grad_output, x, target, reduction, beta)
        return self._as_input(gradient, x)

    @widened
    def _smooth_l1_gradient(
        self, grad_output: Array, x: Array, target: Array, reduction: int, beta: float
    ) -> Any:
        """Return the gradient in the common dtype."""
        xp = self.xp
        away = self._away_from("smooth_l1_backward_cpu", x, target)
        grad_output = self._as_input(grad_output, away)
        if beta == 0:
            slope = xp.sign(away)
        else:
            slope = self._limited(away, -beta, beta)
            slope = slope if beta == 1 else slope / self.numbers.like(away, beta)
        if reduction == MEAN:
            grad_output = xp.multiply(
                grad_output, self.numbers.like(grad_output, 1 / (away.size or 1))
            )
        return xp.multiply(slope, grad_output)

    @operator("huber_loss")
    def huber_loss(self, x: Array, target: Array, reduction: int = MEAN, delta: float = 1.0) -> Any:
        """Return ``d ** 2 / 2`` where d = abs(x - target) is less than `delta`, else ``delta * (d -
        delta / 2)``, reduced (Huber 1964, doi:10.1214/aoms/1177703732).
        """
        if not delta > 0:
            raise RuntimeError(
                "huber_loss does not support non-positive values for delta. Give more than 0."
            )
        if x.dtype != target.dtype or x.dtype not in self._full:
            result = self._in_single("huber_cpu", self.huber_loss, x, target, reduction, delta)
            return self._as_input(result, x)
        return self._reduced(self._bent(x, target, delta), reduction, x, target)

    def _check_probabilities(self, x: Array, target: Array) -> tuple[Any, ...]:
        """Return both, after checking that they are probabilities."""
        own, other = self.dtypes[x.dtype], self.dtypes[target.dtype]
        if own is not other:
            raise RuntimeError(
                f"Found dtype {other.scalar_name} but expected {own.scalar_name}. Convert one."
            )
        if own.category != FLOAT:
            raise NotImplementedError(
                f"\"binary_cross_entropy\" not implemented for '{own.scalar_name}'. Convert to a "
                "floating-point dtype first."
            )
        return tuple(
            [
                each
                if not self.lazy and each.size and self._are_probabilities(each)
                else self.checked(each, (each >= 0) & (each <= 1), partial(_no_probability, name))
                for name, each in (("input", x), ("target", target))
            ]
        )

    def _are_from_0_to_1(self, x: Array) -> bool:
        """Return whether all of at least one element are from 0 to 1."""
        return bool(self.xp.amin(x) >= 0) and bool(self.xp.amax(x) <= 1)

    @operator("binary_cross_entropy")
    def binary_cross_entropy(
        self, x: Array, target: Array, weight: Array | None = None, reduction: int = MEAN
    ) -> Any:
        """Return ``-target * log(x) - (1 - target) * log(1 - x)``, weighted and reduced; a
        logarithm is at least -100.
        """
        x, target = self._check_probabilities(x, target)
        return self._entropy(x, target, weight, reduction)

    @widened
    def _entropy(self, x: Array, target: Any, weight: Any, reduction: int) -> Any:
        """Return the binary cross entropy of probabilities."""
        loss = self._entropies(x, target)
        if weight is not None:
            loss = self.xp.multiply(loss, weight).astype(x.dtype, copy=False)
        return self._reduced(loss, reduction, x, target, weight)

    def _binary_entropies(self, x: Array, target: Array) -> Any:
        xp, like = self.xp, self.numbers.like
        least = like(x, -100)
        of_one = xp.maximum(xp.log(x), least)
        of_zero = xp.maximum(xp.log1p(xp.negative(x)), least)
        return xp.subtract(
            xp.multiply(xp.subtract(target, like(x, 1)), of_zero), xp.multiply(target, of_one)
        )

    @operator("binary_cross_entropy_with_logits")
    def binary_cross_entropy_with_logits(
        self,
        x: Array,
        target: Array,
        weight: Array | None = None,
        pos_weight: Array | None = None,
        reduction: int = MEAN,
    ) -> Any:
        """Return ``-target * log(sigmoid(x)) - (1 - target) * log(1 - sigmoid(x))``, weighted and
        reduced, in the dtype of `target`.
        """
        self.check_float("log_sigmoid_cpu", x)
        if x.dtype in self.precision.complex:
            raise NotImplementedError(
                '"log_sigmoid_cpu" not implemented for '
                f"'{self.dtypes[x.dtype].scalar_name}'. "
                "Take the real part."
            )
        if pos_weight is not None and self.dtypes[pos_weight.dtype] is bool_:
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. Give "
                "pos_weight in another dtype."
            )
        wanted = target.dtype
        if x.dtype != wanted:
            own, given = self.dtypes[x.dtype], self.dtypes[wanted]
            check_target_dtype(own, given)
            common = self.native_dtypes[promote_types(own, given)]
            x, target = x.astype(common, copy=False), target.astype(common, copy=False)
        result = self._entropy_of_logits(x, target, weight, pos_weight, reduction)
        return result if result.dtype == wanted else result.astype(wanted)

    @widened
    def _entropy_of_logits(
        self, x: Array, target: Any, weight: Any, pos_weight: Any, reduction: int
    ) -> Any:
        """Return the binary cross entropy of logits."""
        xp = self.xp
        one = self.numbers.like(x, 1)
        tail = self._softplus(xp.negative(x), 1, math.inf)  # -log sigmoid(x)
        try:
            if pos_weight is not None:
                factor = xp.add(xp.multiply(xp.subtract(pos_weight, one), target), one)
                tail = xp.multiply(tail, factor)
            loss = xp.add(xp.multiply(xp.subtract(one, target), x), tail)
            loss = loss if weight is None else xp.multiply(loss, weight)
        except (TypeError, ValueError) as error:
            raise_misfit(error, pos_weight, target, x, weight)
        return self._reduced(loss, reduction, target, x, pos_weight, weight)


def _sum(loss: Array) -> Any:
    return loss.sum()


def _no_probability(name: str, _value: Array) -> Exception:
    return RuntimeError(
        f"all elements of {name} should be between 0 and 1. Take the sigmoid, or use "
        "binary_cross_entropy_with_logits."
    )
