"""Normalization of channels: the samples of a batch become channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._generated import functions as F
from ...batching.table import batched, logical_ndim, logical_shape, lower, padded
from ...typing import Batch, Dims, Tensor, TensorLike
from .kernels.channel_normalization import check_batch_norm, check_group_norm
from .kernels.normalization import check_layer_norm
from .kernels.normalized_input import normalized_input


def _channels(info: Batch, x: Any, in_dim: Any) -> Any:
    """Return (B, N, C, ...) as (N, B * C, ...)."""
    x = F.transpose(batched(x, in_dim, info.batch_size), 0, 1)
    shape = x.array.shape
    return F.reshape(x, (shape[0], shape[1] * shape[2], *shape[3:]))


def _samples(info: Batch, x: Any) -> Any:
    """Return (N, B * C, ...) as (B, N, C, ...)."""
    shape = x.array.shape
    split = (shape[0], info.batch_size, shape[1] // max(info.batch_size, 1), *shape[2:])
    return F.transpose(F.reshape(x, split), 0, 1)


def _flat(info: Any, x: Any, in_dim: Any) -> Any:
    """Return (B, C) as (B * C)."""
    return None if x is None else F.reshape(batched(x, in_dim, info.batch_size), (-1,))


def _all_flat(info: Batch, tensors: Sequence[object], in_dims: Sequence[Any]) -> list[Any]:
    return [_flat(info, each, dim) for each, dim in zip(tensors, in_dims, strict=True)]


def _rows(info: Batch, x: Any) -> Any:
    """Return (B * C) as (B, C)."""
    if x is None:
        return None
    return F.reshape(x, (info.batch_size, x.array.shape[0] // max(info.batch_size, 1)))


def _lowered(tensors: Sequence[object], in_dims: Sequence[Any]) -> list[Any]:
    return [
        None if tensor is None else lower(tensor, dim)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def batch_norm(
    info: Batch,
    in_dims: Dims,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Any]:
    parameters = (weight, bias, running_mean, running_var)
    check_batch_norm(logical_shape(input, in_dims[0]), *_lowered(parameters, in_dims[1:5]))
    w, b, mean, variance = _all_flat(info, parameters, in_dims[1:5])
    made, *rest = F._native_batch_norm_legit_functional(
        _channels(info, input, in_dims[0]), w, b, mean, variance, training, momentum, eps
    )
    return (_samples(info, made), *[_rows(info, each) for each in rest]), (0,) * 5


def native_batch_norm_backward(
    info: Batch,
    in_dims: Dims,
    grad_out: object,
    input: Tensor,
    weight: Tensor | None,
    running_mean: object,
    running_var: object,
    save_mean: object,
    save_invstd: object,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    given = (weight, running_mean, running_var, save_mean, save_invstd)
    w, mean, variance, saved, root = _all_flat(info, given, in_dims[2:7])
    grad, x = _channels(info, grad_out, in_dims[0]), _channels(info, input, in_dims[1])
    made = F.native_batch_norm_backward(
        grad, x, w, mean, variance, saved, root, train, eps, output_mask
    )
    return _gradients(info, made)


def _gradients(info: Batch, made: Sequence[object]) -> tuple[Any, Any]:
    to_input = None if made[0] is None else _samples(info, made[0])
    results = (to_input, *[_rows(info, each) for each in made[1:]])
    return results, tuple([None if each is None else 0 for each in results])


def native_group_norm(
    info: Batch,
    in_dims: Dims,
    input: TensorLike,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Any, Any]:
    one_weight, one_bias = _lowered((weight, bias), in_dims[1:3])
    check_group_norm(logical_shape(input, in_dims[0]), one_weight, one_bias, C, group)
    w, b = _all_flat(info, (weight, bias), in_dims[1:3])
    x, size = _channels(info, input, in_dims[0]), info.batch_size
    made = F.native_group_norm(x, w, b, N, size * C, HxW, size * group, eps)
    return tuple([_samples(info, each) for each in made]), (0, 0, 0)


def native_group_norm_backward(
    info: Batch,
    in_dims: Dims,
    grad_out: Any,
    input: TensorLike,
    mean: Any,
    rstd: Any,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    given = (grad_out, input, mean, rstd)
    grad, x, mean, rstd = [
        _channels(info, each, dim) for each, dim in zip(given, in_dims[:4], strict=True)
    ]
    w, size = _flat(info, weight, in_dims[4]), info.batch_size
    made = F.native_group_norm_backward(
        grad, x, mean, rstd, w, N, size * C, HxW, size * group, output_mask
    )
    return _gradients(info, made)


def native_layer_norm(
    info: Batch,
    in_dims: Dims,
    input: Any,
    normalized_shape: Sequence[int],
    weight: Any,
    bias: Any,
    eps: float,
) -> tuple[Any, Any]:
    own, _, weight_dim, bias_dim = in_dims[:4]
    check_layer_norm(
        *[lower(input, own), normalized_shape],
        *[
            None if each is None else lower(each, dim)
            for each, dim in ((weight, weight_dim), (bias, bias_dim))
        ],
    )
    if weight_dim is None and bias_dim is None:
        return F.native_layer_norm(input, normalized_shape, weight, bias, eps), (0, 0, 0)
    made, mean, rstd = F.native_layer_norm(input, normalized_shape, None, None, eps)
    ndim = logical_ndim(input, own)
    if weight is not None:
        made = F.mul(made, padded(weight, weight_dim, ndim))
    if bias is not None:
        made = F.add(made, padded(bias, bias_dim, ndim))
    return (F.to(made, input.dtype), mean, rstd), (0, own, own)


def native_layer_norm_backward(
    info: Batch,
    in_dims: Dims,
    grad_out: object,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: object,
    rstd: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    ndim = logical_ndim(input, in_dims[1])
    given = [(grad_out, 0), (input, 1), (mean, 3), (rstd, 4)]
    grad, x, mean, rstd = [batched(tensor, in_dims[at], info.batch_size) for tensor, at in given]
    inner = tuple(range(ndim + 1 - len(normalized_shape), ndim + 1))
    outer = tuple(range(1, ndim + 1 - len(normalized_shape)))
    needs_input, needs_weight, needs_bias = output_mask
    normalized, rstd = normalized_input(F, x, mean, rstd, inner)
    results: list[Any] = [None, None, None]
    if needs_input:
        scaled = grad if weight is None else F.mul(grad, padded(weight, in_dims[5], ndim))
        along = F.mul(normalized, F.mean_dim(F.mul(scaled, normalized), inner, True))
        results[0] = F.mul(F.sub(F.sub(scaled, F.mean_dim(scaled, inner, True)), along), rstd)
    if needs_weight and weight is not None:
        product = F.mul(grad, normalized)
        results[1] = F.sum_dim_IntList(product, outer) if outer else product
    if needs_bias:
        results[2] = F.sum_dim_IntList(grad, outer) if outer else grad
    return tuple(results), tuple([None if each is None else 0 for each in results])
