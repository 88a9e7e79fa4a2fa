"""Indexing along one dimension: index_select, embedding, gather, scatter and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import int32, int64

from ....kernel_support.checks.index_checks import PlacesAlong
from ....kernel_support.dims import check_size, wrap_dim
from ....kernel_support.family import helper, never_warns, operator
from ....typing import Array, Scalar

_ALL = slice(None)


class IndexingAlong(PlacesAlong):
    """Elements and slices at indices along one dimension."""

    @operator("index_select")
    @never_warns
    def index_select(self, x: Array, dim: int, index: Array) -> Any:
        """Return the slices at `index` along `dim`."""
        self._check_vector("index_select", index)
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim and index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} "
                "value(s). Give it a "
                "dimension: x.reshape(1)."
            )
        index = self._in_range(self.xp.reshape(index, (-1,)), x.shape[axis] if x.ndim else 1)
        if not x.ndim:
            return self.xp.reshape(self.xp.take(self.xp.reshape(x, (-1,)), index, axis=0), ())
        return self.xp.take(x, index, axis=axis)

    @operator("index_add")
    def index_add(
        self, x: Array, dim: int, index: Array, source: Array, *, alpha: Scalar = 1
    ) -> Any:
        """Return a copy with ``alpha * source`` added to the slices at `index` along `dim`."""
        axis, index = self._check_slices("index_add_", x, dim, index, source)
        if alpha != 1:
            source = source * self.numbers.like(source, alpha)
        if not x.ndim:
            return self.xp.add(x, source)
        return self.capabilities.index_add(self.capabilities.contiguous(x), axis, index, source)

    @operator("embedding")
    @never_warns
    def embedding(
        self,
        weight: Array,
        indices: Array,
        padding_idx: int = -1,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """Return the rows of `weight` at `indices`."""
        if weight.ndim != 2:
            raise RuntimeError("'weight' must be 2-D")
        if self.dtypes[indices.dtype] not in (int32, int64):
            raise RuntimeError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                "types: Long, Int; but got "
                f"{self.dtypes[indices.dtype].scalar_name} instead (while checking arguments for "
                "embedding)"
            )
        return self.xp.take(weight, self._in_range(indices, weight.shape[0]), axis=0)

    @operator("embedding_dense_backward")
    def embedding_dense_backward(
        self,
        grad_output: Array,
        indices: Array,
        num_weights: int,
        padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> Any:
        """Return the gradient of `embedding`: zeros with the rows of the gradient added at their
        indices, except at `padding_idx`.
        """
        xp = self.xp
        if self.dtypes[indices.dtype] not in (int32, int64):
            raise RuntimeError(
                "Expected tensor for argument #2 'indices' to have one of the following scalar "
                f"types: Long, Int; but got {self.dtypes[indices.dtype].scalar_name}. Convert it."
            )
        width = grad_output.shape[-1] if grad_output.ndim else 1
        if grad_output.size != indices.size * width:
            raise RuntimeError(
                f"shape '[{indices.size}, {width}]' is invalid for input of size "
                f"{grad_output.size}: a gradient has one row for every index."
            )
        shape = check_size((num_weights, width), grad_output.dtype.itemsize)
        flat, rows = xp.reshape(indices, (-1,)), xp.reshape(grad_output, (indices.size, width))
        # The forward looked at them too, but they may have changed since, or it never ran.
        flat = self._in_range(flat, num_weights)
        if padding_idx >= 0:
            kept = flat != padding_idx
            if self.lazy:
                # Nothing is added there, since how many are kept would be a value.
                rows = xp.where(kept[:, None], rows, self.numbers.like(rows, 0))
            else:
                flat, rows = flat[kept], rows[kept]
        if scale_grad_by_freq:
            frequency = xp.bincount(flat, minlength=num_weights)[flat].astype(rows.dtype)
            rows = rows / frequency[:, None]
        zeros = xp.zeros(shape, dtype=rows.dtype)
        return self.capabilities.index_add(zeros, 0, flat, rows)

    @operator("gather")
    @never_warns
    def gather(self, x: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Any:
        """Return the elements at `index` along `dim`, at the same place in all other dimensions."""
        xp = self.xp
        axis = wrap_dim(dim, x.ndim)
        if not index.size:
            return self.capabilities.empty(index.shape, x.dtype)
        index = self._index_along("gather", x, index, axis)
        if not x.ndim or not index.ndim:
            return xp.take(xp.reshape(x, (-1,)), index, axis=0)
        if index.shape != x.shape:
            for each, (n, size) in enumerate(zip(index.shape, x.shape, strict=True)):
                if each != axis and n > size:
                    raise RuntimeError(
                        f"Size does not match at dimension {each} expected index "
                        f"{list(index.shape)} to be no larger than "
                        f"self {list(x.shape)} apart from dimension {axis}"
                    )
            x = x[tuple([_ALL if each == axis else slice(n) for each, n in enumerate(index.shape)])]
        return self.capabilities.contiguous(xp.take_along_axis(x, index, axis=axis))

    def _scattered(
        self, name: str, x: Array, dim: int, index: Array, source: Array | Scalar, accumulate: bool
    ) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        shape = x.shape
        x, axis, index, source = self._lined_up(name, x, dim, index, source)
        if not index.size:
            return self.capabilities.clone(x)
        return self.xp.reshape(self.capabilities.scatter(x, axis, index, source, accumulate), shape)

    @operator("scatter.src", "scatter.value")
    def scatter(self, x: Array, dim: int, index: Array, src: Array | int) -> Any:
        """Return a copy with the elements of `src` at `index` along `dim`."""
        return self._scattered("scatter", x, dim, index, src, False)

    @operator("scatter_add")
    def scatter_add(self, x: Array, dim: int, index: Array, src: Array) -> Any:
        """Return a copy with the elements of `src` added at `index` along `dim`."""
        return self._scattered("scatter", x, dim, index, src, True)

    @helper("value_selecting_reduction_backward")
    def value_selecting_reduction_backward(
        self, grad: Array, dim: int, indices: Array, sizes: Sequence[int], keepdim: bool
    ) -> Any:
        """Return the gradient of a selecting reduction: zeros, and `grad` at `indices` of `dim`."""
        if sizes and not keepdim:
            key = (_ALL,) * wrap_dim(dim, len(sizes)) + (None,)
            grad, indices = grad[key], indices[key]
        zeros = self.xp.zeros(tuple(sizes), dtype=grad.dtype)
        return self.scatter(zeros, dim, indices, grad)
