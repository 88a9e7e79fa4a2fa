"""Elements and rows at indices, and sums of them. What a loop finds out of range is handed on, for
the kernel beneath to refuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail_aten.kernel_support import wrap_dim

from ..machine.threads import split
from .covering import over
from .dense_arrays import LONG, are_dense, is_dense, is_float, loops_for


def _on_last(x: Any, dim: int, index: Any, *others: Any) -> bool:
    """Return whether dense arrays with the same leading dimensions are indexed along the last."""
    return (
        is_float(x)
        and x.ndim > 0
        and dim in (-1, x.ndim - 1)
        and x.shape[-1] > 0
        and index.ndim == x.ndim
        and index.shape[:-1] == x.shape[:-1]
        and index.size > 0
        and is_dense(index, LONG)
        and are_dense(x.dtype, x, *others)
        and all([each.shape == index.shape for each in others])
    )


def _in_pieces(run: Any, arrays: Any, further: Any, size: int, cost: float) -> bool:
    """Run a loop that says whether its indices were in range over pieces of arrays."""
    right = []

    def piece(a: int, b: int) -> None:
        right.append(run(*[each[a:b] for each in arrays], *further))

    split(piece, size, cost)
    return all(right)


@over("gather", least=4096, counted=2)
def gather(below: Any, x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Return the elements at `index` along the last dimension."""
    if _on_last(x, dim, index):
        out = np.empty(index.shape, x.dtype)
        arrays = [each.reshape(-1, each.shape[-1]) for each in (out, x, index)]
        run = loops_for(x.dtype).gather.ready()
        if _in_pieces(run, arrays, (), len(arrays[0]), 1.0 * index.size):
            return out
    return below(x, dim, index, sparse_grad=sparse_grad)


@over("scatter_add", least=2048, counted=2)
def scatter_add(below: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
    """Return a copy with the elements of `src` added at `index` along the last dimension."""
    if src.dtype == x.dtype and _on_last(x, dim, index, src):
        out = x.copy()
        arrays = [each.reshape(-1, each.shape[-1]) for each in (out, index, src)]
        run = loops_for(x.dtype).scatter_add.ready()
        if _in_pieces(run, arrays, (), len(arrays[0]), 1.2 * index.size):
            return out
    return below(x, dim, index, src)


def _added(out: Any, index: Any, source: Any, factor: float, skipped: int) -> bool:
    """Add rows of a matrix to rows of `out`; return whether all indices are in range. Each thread
    has rows of its own, so that the order of the sums is always the same.
    """
    run = loops_for(out.dtype).add_rows.ready()
    right = []

    def piece(a: int, b: int) -> None:
        right.append(run(out, index, source, factor, skipped, a, b))

    split(piece, len(out), 0.5 * source.size)
    return all(right)


@over("index_add", least=256, counted=3)
def index_add(below: Any, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Return a copy with ``alpha * source`` added to the rows at `index`."""
    if (
        is_float(x)
        and x.ndim > 1
        and x.size
        and -x.ndim <= dim < x.ndim
        and wrap_dim(dim, x.ndim) == 0
        and index.ndim == 1
        and is_dense(index, LONG)
        and are_dense(x.dtype, x, source)
        and source.shape == (index.size, *x.shape[1:])
        and isinstance(alpha, (int, float))
    ):
        out = x.copy()
        if _added(out.reshape(len(x), -1), index, source.reshape(index.size, -1), alpha, -1):
            return out
    return below(x, dim, index, source, alpha=alpha)


@over("embedding_dense_backward", least=256)
def embedding_dense_backward(
    below: Any,
    grad_output: Any,
    indices: Any,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    """Return the gradient of `embedding`: zeros with rows of the gradient added."""
    width = grad_output.shape[-1] if grad_output.ndim else 0
    if (
        is_float(grad_output)
        and width
        and num_weights > 0
        and not scale_grad_by_freq
        and is_dense(indices, LONG)
        and grad_output.size == indices.size * width
    ):
        rows = np.ascontiguousarray(grad_output).reshape(-1, width)
        out = np.zeros((num_weights, width), grad_output.dtype)
        if _added(out, indices.reshape(-1), rows, 1, padding_idx):
            return out
    return below(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
