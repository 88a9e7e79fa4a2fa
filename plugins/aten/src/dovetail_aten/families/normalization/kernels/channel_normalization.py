"""Normalization of channels, over the batch or in groups, and the backward kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel.types import FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import Family, fitted, operator
from ....typing import Array


class ChannelNormalization(Family):
    """Batch and group normalization."""

    def _check_dtypes(self, name: str, x: Array, parameters: Sequence[Any]) -> Any:
        """Return the dtype of the statistics: that of the parameters, which may be single beside a
        half-precision input. Raises NotImplementedError if the input is not of floating point, and
        RuntimeError if the dtypes of the parameters do not fit.
        """
        own = x.dtype
        kind = self.dtypes[own]
        if kind.category != FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{kind.scalar_name}'. Convert to a floating-point "
                "dtype first."
            )
        given = {each.dtype for each in parameters if each is not None}
        single = self.precision.single
        if given <= {own}:
            return own
        if own in self.precision.halves and given <= {own, single}:
            return single
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of {kind.scalar_name}. "
            "Convert weight, bias and running statistics."
        )

    def _column(self, x: Array, ndim: int) -> Any:
        """Return one number for each channel so that it broadcasts against an array."""
        return self.xp.reshape(self.precision.wide(x), (1, -1, *(1,) * (ndim - 2)))

    # -- over the batch ----------------------------------------------------------------------------

    @operator("_native_batch_norm_legit_functional")
    def batch_norm(
        self,
        x: Array,
        weight: Array | None,
        bias: Array | None,
        running_mean: Array,
        running_var: Array,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Any, Any, Any, Any, Any]:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` with one mean and variance
        for each channel, the means and reciprocal deviations, and the new running statistics (Ioffe
        and Szegedy 2015, arXiv:1502.03167). Evaluation uses the running statistics.
        """
        xp, like = self.xp, self.numbers.like
        parameters = (weight, bias, running_mean, running_var)
        check_batch_norm(x.shape, *parameters)
        kind = self._check_dtypes("batch_norm", x, parameters)
        if not training:
            mean, variance = running_mean, running_var
            rstd = self._reciprocal_root(self.precision.wide(variance), eps)
            made = self._scaled(self._away(x, mean), rstd, weight, bias, x.dtype)
            return (
                made,
                xp.zeros((0,), dtype=kind),
                xp.zeros((0,), dtype=kind),
                self.capabilities.clone(mean),
                self.capabilities.clone(variance),
            )
        axes = (0, *range(2, x.ndim))
        count = math.prod([x.shape[axis] for axis in axes])
        wide = self.precision.wide(x)
        mean = xp.multiply(self._sum_over(wide, axes), like(wide, 1 / (count or 1)))
        away = self._away(wide, mean)
        squares = self._sum_over(xp.multiply(away, away), axes)
        variance = xp.multiply(squares, like(wide, 1 / (count or 1)))
        rstd = self._reciprocal_root(variance, eps)
        made = self._scaled(away, rstd, weight, bias, x.dtype)
        if count:
            unbiased = xp.multiply(squares, like(wide, 1 / (count - 1) if count > 1 else math.nan))
            running_mean = self._following(running_mean, mean, momentum)
            running_var = self._following(running_var, unbiased, momentum)
        else:
            running_mean = self.capabilities.clone(running_mean)
            running_var = self.capabilities.clone(running_var)
        narrow = self.precision.converted
        return made, narrow(mean, kind), narrow(rstd, kind), running_mean, running_var

    def _reciprocal_root(self, variance: Array, eps: float) -> Any:
        """Return ``1 / sqrt(variance + eps)``."""
        xp = self.xp
        return xp.reciprocal(xp.sqrt(xp.add(variance, self.numbers.like(variance, eps))))

    def _sum_over(self, x: Array, axes: tuple[int, ...]) -> Any:
        """Return one sum for each channel."""
        return x.sum(axis=axes)

    def _away(self, x: Array, mean: Array) -> Any:
        """Return how far elements are from the mean of their channel."""
        return self.xp.subtract(self.precision.wide(x), self._column(mean, x.ndim))

    def _scaled(
        self, away: Array, rstd: Array, weight: Array | None, bias: Array | None, own: NativeDtype
    ) -> Any:
        """Return ``away * rstd * weight + bias`` in the dtype `own`."""
        xp = self.xp
        scale = rstd if weight is None else xp.multiply(rstd, self.precision.wide(weight))
        made = xp.multiply(away, self._column(scale, away.ndim))
        if bias is not None:
            made = xp.add(made, self._column(bias, away.ndim))
        return self.ordered(self.precision.converted(made, own))

    def _following(self, running: Array, now: Array, momentum: float) -> Any:
        """Return a running statistic moved towards what it is now."""
        xp = self.xp
        wide = self.precision.wide(running)
        kept = xp.multiply(wide, self.numbers.like(wide, 1 - momentum))
        moved = xp.add(kept, xp.multiply(now, self.numbers.like(now, momentum)))
        return self.precision.converted(moved, running.dtype)

    @operator("native_batch_norm_backward")
    @fitted
    def batch_norm_backward(
        self,
        grad_out: Array,
        x: Array,
        weight: Array | None,
        running_mean: Array,
        running_var: Array,
        save_mean: Array,
        save_invstd: Array,
        train: bool,
        eps: float,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` selects."""
        xp, wide = self.xp, self.precision.wide
        check_batch_norm(x.shape, weight, None, running_mean, running_var)
        kind = self._check_dtypes("batch_norm_backward", x, (weight, running_mean, running_var))
        if train:
            mean, rstd = save_mean, wide(save_invstd)
        else:
            mean, rstd = running_mean, self._reciprocal_root(wide(running_var), eps)
        axes = (0, *range(2, x.ndim))
        grad = wide(grad_out)
        normalized = xp.multiply(self._away(x, mean), self._column(rstd, x.ndim))
        along = self._sum_over(xp.multiply(grad, normalized), axes)
        total = self._sum_over(grad, axes)
        to_input = None
        if output_mask[0]:
            scale = rstd if weight is None else xp.multiply(rstd, wide(weight))
            if train:
                count = math.prod([x.shape[axis] for axis in axes]) or 1
                share = self.numbers.like(grad, 1 / count)
                bent = xp.multiply(normalized, self._column(xp.multiply(along, share), x.ndim))
                straight = self._column(xp.multiply(total, share), x.ndim)
                grad = xp.subtract(xp.subtract(grad, straight), bent)
            to_input = xp.multiply(grad, self._column(scale, x.ndim))
            to_input = self.ordered(self.precision.converted(to_input, x.dtype))
        of_weight = kind if weight is None else weight.dtype
        to_weight, to_bias = [
            self.precision.converted(each, of_weight) if wanted else None
            for each, wanted in zip((along, total), output_mask[1:], strict=True)
        ]
        return to_input, to_weight, to_bias

    # -- in groups ---------------------------------------------------------------------------------

    @operator("native_group_norm")
    @fitted
    def group_norm(
        self, x: Array, weight: Array, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Any, Any, Any]:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` with one mean and variance
        for each group of channels of a sample, and the means and reciprocal deviations (Wu and He
        2018, arXiv:1803.08494).
        """
        xp, like = self.xp, self.numbers.like
        check_group_norm(x.shape, weight, bias, C, group)
        kind = self._check_dtypes("GroupNormKernelImpl", x, (weight, bias))
        length = C // group * HxW
        rows = xp.reshape(self.precision.wide(x), (N, group, length))
        share = like(rows, 1 / (length or 1))
        mean = xp.multiply(rows.sum(axis=2, keepdims=True), share)
        away = xp.subtract(rows, mean)
        squares = xp.multiply(away, away).sum(axis=2, keepdims=True)
        rstd = self._reciprocal_root(xp.multiply(squares, share), eps)
        made = xp.reshape(xp.multiply(away, rstd), (N, C, HxW))
        if weight is not None:
            made = xp.multiply(made, self._column(weight, 3))
        if bias is not None:
            made = xp.add(made, self._column(bias, 3))
        narrow = self.precision.converted
        return (
            self.ordered(xp.reshape(narrow(made, x.dtype), x.shape)),
            xp.reshape(narrow(mean, kind), (N, group)),
            xp.reshape(narrow(rstd, kind), (N, group)),
        )

    @operator("native_group_norm_backward")
    @fitted
    def group_norm_backward(
        self,
        grad_out: Array,
        x: Array,
        mean: Array,
        rstd: Array,
        weight: Array | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` selects."""
        xp, wide = self.xp, self.precision.wide
        check_group_norm(x.shape, weight, None, C, group)
        kind = self._check_dtypes("GroupNormBackward", x, (weight,))
        length = C // group * HxW
        grad = xp.reshape(wide(grad_out), (N, C, HxW))
        inverse = xp.reshape(wide(rstd), (N, group, 1))
        away = xp.subtract(
            xp.reshape(wide(x), (N, group, length)), xp.reshape(wide(mean), (N, group, 1))
        )
        normalized = xp.multiply(away, inverse)
        to_input = None
        if output_mask[0]:
            scaled = grad if weight is None else xp.multiply(grad, self._column(weight, 3))
            scaled = xp.reshape(scaled, (N, group, length))
            share = self.numbers.like(scaled, 1 / (length or 1))
            total = xp.multiply(scaled.sum(axis=2, keepdims=True), share)
            along = xp.multiply(xp.multiply(scaled, normalized).sum(axis=2, keepdims=True), share)
            bent = xp.subtract(xp.subtract(scaled, total), xp.multiply(normalized, along))
            made = self.precision.converted(xp.multiply(bent, inverse), x.dtype)
            to_input = self.ordered(xp.reshape(made, x.shape))
        of_weight = kind if weight is None else weight.dtype
        product = xp.multiply(grad, xp.reshape(normalized, (N, C, HxW)))
        to_weight, to_bias = [
            self.precision.converted(each.sum(axis=(0, 2)), of_weight) if wanted else None
            for each, wanted in zip((product, grad), output_mask[1:], strict=True)
        ]
        return to_input, to_weight, to_bias


def check_batch_norm(
    shape: Sequence[int], weight: Any, bias: Any, running_mean: Any, running_var: Any
) -> int:
    """Return the number of channels.

    Raises
    ------
    RuntimeError
        If weight, bias or running statistics do not have one number per channel.
    IndexError
        If the input has no dimension 1.
    """
    channels = shape[wrap_dim(1, len(shape))]
    given = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    for name, each in given.items():
        if each is not None and math.prod(each.shape) != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {math.prod(each.shape)}. Give one "
                "for each channel, dimension 1 of the input."
            )
    return int(channels)


def check_group_norm(
    shape: Sequence[int], weight: Any, bias: Any, channels: int, group: int
) -> None:
    """Raise an error for groups that do not divide the channels, and for weights without one number
    per channel.

    Raises
    ------
    RuntimeError
        With PyTorch's message.
    """
    if group <= 0:
        raise RuntimeError(
            f"Expected num groups to be greater than 0, got {group}. Give at least 1."
        )
    if channels % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={group}. Choose a divisor of {channels}."
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(each.shape)} and input of shape {list(shape)}. "
                "Give one number for each channel."
            )
