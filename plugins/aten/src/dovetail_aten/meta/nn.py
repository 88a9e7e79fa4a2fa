"""Operators of neural networks that are not pointwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import float32

from ..array_kernels.dims import wrap_dim
from ..array_kernels.likelihood import check_images_of_classes
from .meta_array import MetaArray
from .table import broadcast_result, like


def softmax(self: MetaArray, dim: int, half_to_float: bool) -> MetaArray:
    wrap_dim(dim, self.ndim)
    return like(self, dtype=float32 if half_to_float else None)


def softmax_backward(
    grad_output: MetaArray, output: MetaArray, dim: int, input_dtype: Any
) -> MetaArray:
    return like(grad_output, dtype=input_dtype)


def nll_loss_forward(
    self: MetaArray, target: MetaArray, weight: MetaArray | None, reduction: int, ignore_index: int
) -> tuple[MetaArray, MetaArray]:
    if not 0 < self.ndim <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if self.ndim == 2 and target.shape and self.shape[0] != target.shape[0]:
        raise RuntimeError(
            f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})"
        )
    shape = self.shape[:1] if reduction == 0 and self.ndim == 2 else ()
    return like(self, shape), like(self, ())


def nll_loss_backward(
    grad_output: MetaArray,
    self: MetaArray,
    target: MetaArray,
    weight: MetaArray | None,
    reduction: int,
    ignore_index: int,
    total_weight: MetaArray,
) -> MetaArray:
    return like(self)


def nll_loss2d_forward(
    self: MetaArray, target: MetaArray, weight: MetaArray | None, reduction: int, ignore_index: int
) -> tuple[MetaArray, MetaArray]:
    check_images_of_classes(self.shape, target.shape)
    return like(self, () if reduction else target.shape), like(self, ())


def nll_loss2d_backward(
    grad_output: MetaArray, self: MetaArray, target: MetaArray, *how: Any
) -> MetaArray:
    check_images_of_classes(self.shape, target.shape)
    return like(self)


def mse_loss(
    self: MetaArray, target: MetaArray, reduction: int = 1, beta: float = 1.0
) -> MetaArray:
    result = broadcast_result([self, target], self.dtype)
    return like(result, ()) if reduction else result


def binary_cross_entropy(
    self: MetaArray, target: MetaArray, weight: MetaArray | None = None, reduction: int = 1
) -> MetaArray:
    given = [each for each in (self, target, weight) if each is not None]
    result = broadcast_result(given, self.dtype)
    return like(result, ()) if reduction else result


def mse_loss_backward(
    grad_output: MetaArray, self: MetaArray, target: MetaArray, reduction: int
) -> MetaArray:
    return broadcast_result([grad_output, self, target], self.dtype)


def prelu_backward(
    grad_output: MetaArray, self: MetaArray, weight: MetaArray
) -> tuple[MetaArray, MetaArray]:
    result = broadcast_result([grad_output, self, weight], self.dtype)
    return result, like(result)


def native_layer_norm(
    input: MetaArray,
    normalized_shape: Sequence[int],
    weight: MetaArray | None,
    bias: MetaArray | None,
    eps: float,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    count = len(normalized_shape)
    if tuple(input.shape[input.ndim - count :]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*, {', '.join(map(str, normalized_shape))}], but got input of size "
            f"{list(input.shape)}"
        )
    shape = (*input.shape[: input.ndim - count], *(1,) * count)
    return like(input), like(input, shape), like(input, shape)


def native_layer_norm_backward(
    grad_out: MetaArray,
    input: MetaArray,
    normalized_shape: Sequence[int],
    mean: MetaArray,
    rstd: MetaArray,
    weight: MetaArray | None,
    bias: MetaArray | None,
    output_mask: Sequence[bool],
) -> tuple[MetaArray | None, MetaArray | None, MetaArray | None]:
    made = (like(input), like(input, normalized_shape), like(input, normalized_shape))
    first, second, third = [
        each if wanted else None for each, wanted in zip(made, output_mask, strict=True)
    ]
    return first, second, third
