"""Shapes of losses."""

from __future__ import annotations

from ...meta.meta_array import MetaArray
from ...meta.table import broadcast_result, like


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


def nll_loss_backward(grad_output: MetaArray, self: MetaArray, *how: object) -> MetaArray:
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
