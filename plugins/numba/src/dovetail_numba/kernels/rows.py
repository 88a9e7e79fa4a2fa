"""Softmax and its kin, cross entropy, and running results: along one dimension of dense arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail_aten.kernel_support import wrap_dim

from ..machine.threads import split
from .covering import over, over_helper
from .dense_arrays import LONG, is_dense, is_float, loops_for

_MEAN = 1


def parted(x: Any, dim: int) -> tuple[int, int, int] | None:
    """Return how many elements lie before, along and behind `dim`; None if the array is not dense,
    or has no such dimension.
    """
    if not is_float(x) or not is_dense(x, x.dtype) or not -x.ndim <= dim < x.ndim:
        return None
    axis = wrap_dim(dim, x.ndim)
    shape = x.shape
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def run_over_rows(loop: Any, arrays: Any, further: Any = (), cost: float = 1.0) -> None:
    """Run a loop over arrays that have rows, in pieces if several threads pay."""
    run = loop.ready()

    def piece(start: int, stop: int) -> None:
        run(*[each[start:stop] for each in arrays], *further)

    split(piece, len(arrays[0]), cost * arrays[0].size)


def _softmax(x: Any, dim: int, *, is_log: bool) -> Any:
    parts = parted(x, dim)
    if parts is None:
        return None
    loops, out = loops_for(x.dtype), np.empty(x.shape, x.dtype)
    before, count, behind = parts
    if behind == 1:
        loop = loops.log_softmax if is_log else loops.softmax
        run_over_rows(loop, [each.reshape(before, count) for each in (out, x)], cost=1.5)
    else:
        arrays = [each.reshape(parts) for each in (out, x)]
        run_over_rows(loops.softmax_of_columns, arrays, (is_log,), 2)
    return out


def _softmax_backward(
    grad_output: Any, output: Any, dim: int, input_dtype: Any, *, is_log: bool
) -> Any:
    parts = parted(output, dim)
    if parts is None or input_dtype != output.dtype or grad_output.shape != output.shape:
        return None
    if grad_output.dtype != output.dtype:
        return None
    grad_output = np.ascontiguousarray(grad_output)
    loops, out = loops_for(output.dtype), np.empty(output.shape, output.dtype)
    before, count, behind = parts
    given = (out, grad_output, output)
    if behind == 1:
        loop = loops.log_softmax_backward if is_log else loops.softmax_backward
        run_over_rows(loop, [each.reshape(before, count) for each in given])
    else:
        arrays = [each.reshape(parts) for each in given]
        run_over_rows(loops.softmax_of_columns_backward, arrays, (is_log,))
    return out


@over("_softmax", least=4096)
def softmax(below: Any, x: Any, dim: int, half_to_float: bool) -> Any:
    """Return ``exp(x) / sum(exp(x))`` along `dim`."""
    made = None if half_to_float else _softmax(x, dim, is_log=False)
    return below(x, dim, half_to_float) if made is None else made


@over("_safe_softmax", least=256)
def safe_softmax(below: Any, x: Any, dim: int, dtype: Any = None) -> Any:
    """Return `softmax`, and 0 where all elements along `dim` are minus infinity."""
    made = _softmax(x, dim, is_log=False) if dtype is None else None
    # Of minus infinities alone `softmax` makes NaN, as it does of NaN.
    if made is None or np.isnan(made.take(0, dim)).any():
        return below(x, dim, dtype)
    return made


@over("_log_softmax", least=256)
def log_softmax(below: Any, x: Any, dim: int, half_to_float: bool) -> Any:
    """Return ``x - log(sum(exp(x)))`` along `dim`."""
    made = None if half_to_float else _softmax(x, dim, is_log=True)
    return below(x, dim, half_to_float) if made is None else made


@over("_softmax_backward_data", least=8192, counted=1)
def softmax_backward(below: Any, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """Return the gradient of `softmax`, from its result."""
    made = _softmax_backward(grad_output, output, dim, input_dtype, is_log=False)
    return below(grad_output, output, dim, input_dtype) if made is None else made


@over("_log_softmax_backward_data", least=4096, counted=1)
def log_softmax_backward(
    below: Any, grad_output: Any, output: Any, dim: int, input_dtype: Any
) -> Any:
    """Return the gradient of `log_softmax`, from its result."""
    made = _softmax_backward(grad_output, output, dim, input_dtype, is_log=True)
    return below(grad_output, output, dim, input_dtype) if made is None else made


@over("logsumexp", least=8192)
def logsumexp(below: Any, x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Return ``log(sum(exp(x)))`` along the last dimension."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    parts = parted(x, dims[0]) if len(dims) == 1 else None
    if parts is None or parts[2] != 1:
        return below(x, dim, keepdim)
    out = np.empty(x.shape[:-1], x.dtype)
    arrays = (out.reshape(-1), x.reshape(parts[:2]))
    run = loops_for(x.dtype).logsumexp.ready()
    split(lambda a, b: run(*[each[a:b] for each in arrays]), parts[0], 1.2 * x.size)
    return out.reshape(*x.shape[:-1], 1) if keepdim else out


@over_helper("cross_entropy", least=4097)
def cross_entropy(below: Any, x: Any, target: Any, reduction: int, ignore_index: int) -> Any:
    """Return the loss, the logarithms of the probabilities, and the weight of the samples."""
    if x.ndim != 2 or target.ndim != 1 or len(target) != len(x) or target.dtype != LONG:
        return below(x, target, reduction, ignore_index)
    classes = x.shape[1]
    # Read as unsigned, a negative class is beyond the last one too.
    if not reduction or 0 <= ignore_index < classes or target.view(np.uint64).max() >= classes:
        return below(x, target, reduction, ignore_index)
    output = _softmax(x, 1, is_log=True)
    if output is None:
        return below(x, target, reduction, ignore_index)
    samples = len(target)
    total = 0.0 - float(output[np.arange(samples), target].sum(dtype=np.float64))
    loss = total / samples if reduction == _MEAN else total
    return np.array(loss, x.dtype), output, np.array(samples, x.dtype)


@over_helper("cross_entropy_backward", least=4097, counted=1)
def cross_entropy_backward(
    below: Any,
    grad_output: Any,
    output: Any,
    target: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    """Return ``softmax - one_hot``, the gradient of the logits, times that of the loss."""
    weight = total_weight.item() if total_weight.size == 1 else 0
    if (
        not reduction
        or grad_output.size != 1
        or not weight
        or not is_float(output)
        or not is_dense(output, output.dtype)
        or not is_dense(target, LONG)
    ):
        return below(grad_output, output, target, reduction, ignore_index, total_weight)
    slope = grad_output.item() / (weight if reduction == _MEAN else 1)
    out = np.empty(output.shape, output.dtype)
    loop = loops_for(output.dtype).cross_entropy_backward
    run_over_rows(loop, (out, output, target), (slope, ignore_index))
    return out


def _scan(x: Any, dim: int, *, is_product: bool) -> Any:
    parts = parted(x, dim)
    if parts is None:
        return None
    loops, out = loops_for(x.dtype), np.empty(x.shape, x.dtype)
    before, count, behind = parts
    if behind == 1:
        loop = loops.cumprod if is_product else loops.cumsum
        run_over_rows(loop, [each.reshape(before, count) for each in (out, x)], cost=0.5)
    else:
        arrays = [each.reshape(parts) for each in (out, x)]
        run_over_rows(loops.scan_columns, arrays, (is_product,), 0.7)
    return out


@over("cumsum", least=2048)
def cumsum(below: Any, x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the running sums along `dim`, which are held in double precision."""
    made = _scan(x, dim, is_product=False) if dtype is None else None
    return below(x, dim, dtype=dtype) if made is None else made


@over("cumprod", least=2048)
def cumprod(below: Any, x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the running products along `dim`, which are held in double precision."""
    made = _scan(x, dim, is_product=True) if dtype is None else None
    return below(x, dim, dtype=dtype) if made is None else made


def _running_extrema(x: Any, dim: int, *, is_least: bool) -> Any:
    parts = parted(x, dim)
    if parts is None:
        return None
    out, places = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
    loops = loops_for(x.dtype)
    if parts[2] == 1:
        arrays = [each.reshape(parts[:2]) for each in (out, places, x)]
        run_over_rows(loops.running_extrema_of_rows, arrays, (is_least,), 2)
    else:
        arrays = [each.reshape(parts) for each in (out, places, x)]
        run_over_rows(loops.running_extrema, arrays, (is_least,), 2)
    return out, places


@over("cummax", least=256)
def cummax(below: Any, x: Any, dim: int) -> Any:
    """Return the greatest elements so far along `dim`, and where they are."""
    made = _running_extrema(x, dim, is_least=False)
    return below(x, dim) if made is None else made


@over("cummin", least=256)
def cummin(below: Any, x: Any, dim: int) -> Any:
    """Return the least elements so far along `dim`, and where they are."""
    made = _running_extrema(x, dim, is_least=True)
    return below(x, dim) if made is None else made


__all__ = ["parted", "run_over_rows"]
