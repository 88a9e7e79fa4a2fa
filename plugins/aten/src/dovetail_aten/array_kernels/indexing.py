"""Indexing by tensors: index, gather, scatter and their kin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher.calls.array_errors import broadcast_error
from dovetail_kernel import bool as bool_
from dovetail_kernel import int32, int64, uint8

from .capabilities import Capabilities
from .dims import wrap_dim
from .operands import Numbers
from .table import KernelTable

_ALL = slice(None)
_OUT_OF_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_index(xp, kernel, capabilities)
    _define_along(xp, kernel, capabilities)
    _define_scatter(xp, kernel, capabilities)


def _define_index(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes = capabilities.dtypes

    def key_of(self: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key that the array namespace understands, after checking what it would word
        differently.
        """
        key: list[Any] = []
        dim = 0
        for position, index in enumerate(indices):
            if index is None:
                key.append(_ALL)
                dim += 1
                continue
            kind = dtypes[index.dtype]
            if kind.category > int64.category:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            if kind is uint8:
                index = index != 0
            if kind is uint8 or kind is bool_:
                if dim + index.ndim > self.ndim:
                    raise _too_many(self.ndim, dim + index.ndim)
                if tuple(index.shape) != tuple(self.shape[dim : dim + index.ndim]):
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {position} does not "
                        "match the shape of the "
                        f"indexed tensor {list(self.shape)} at index {dim}"
                    )
                dim += index.ndim
            else:
                if not capabilities.checks_bounds and index.size and dim < self.ndim:
                    check_bounds(index, dim, self.shape[dim])
                dim += 1
            key.append(index)
        if dim > self.ndim:
            raise _too_many(self.ndim, dim)
        return tuple(key)

    def check_bounds(index: Any, dim: int, size: int) -> None:
        for wrong in (int(xp.amin(index)), int(xp.amax(index))):
            if not -size <= wrong < size:
                raise IndexError(
                    f"index {wrong} is out of bounds for dimension {dim} with size {size}"
                )

    def _too_many(ndim: int, got: int) -> IndexError:
        return IndexError(f"too many indices for tensor of dimension {ndim} (got {got})")

    def worded(error: Exception, key: tuple[Any, ...]) -> Exception:
        found = _OUT_OF_BOUNDS.search(str(error))
        if found:
            return IndexError(
                "index {} is out of bounds for dimension {} with size {}".format(*found.groups())
            )
        shapes = ", ".join([str(list(index.shape)) for index in key if hasattr(index, "shape")])
        if "broadcast" in str(error):
            return IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{shapes}"
            )
        return error

    @kernel.named("index.Tensor")
    def index(self: Any, indices: Sequence[Any]) -> Any:
        key = key_of(self, indices)
        if not any(each is not _ALL for each in key):
            return capabilities.clone(self)
        try:
            return self[key]
        except IndexError as error:
            raise worded(error, key) from None

    @kernel.named("index_put")
    def index_put(self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
        if values.dtype != self.dtype:
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{dtypes[self.dtype].scalar_name} for the destination and "
                f"{dtypes[values.dtype].scalar_name} for the source."
            )
        key = key_of(self, indices)
        # Array namespaces drop leading dimensions of size 1.
        if values.ndim > 1 and values.shape[0] == 1 and values.ndim > selected_ndim(self, key):
            raise unfitting(self, key, values)
        try:
            return capabilities.index_put(self, key, values, accumulate)
        except IndexError as error:
            raise worded(error, key) from None
        except ValueError:
            raise unfitting(self, key, values) from None

    def selected_ndim(self: Any, key: Sequence[Any]) -> int:
        """Return how many dimensions ``self[key]`` has."""
        ndim, of_indices = self.ndim, 0
        for index in key:
            if index is not _ALL:
                is_mask = index.dtype == xp.bool_
                ndim -= index.ndim if is_mask else 1
                of_indices = max(of_indices, 1 if is_mask else index.ndim)
        return int(ndim) + of_indices

    def unfitting(self: Any, key: tuple[Any, ...], values: Any) -> Exception:
        try:
            shape = list(self[key].shape)
        except IndexError as error:
            return worded(error, key)
        return RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            "indexing result of "
            f"shape {shape}"
        )

    @kernel.named("masked_select")
    def masked_select(self: Any, mask: Any) -> Any:
        if mask.dtype != xp.bool_:
            raise RuntimeError(
                "masked_select: expected BoolTensor for mask, but got "
                f"{dtypes[mask.dtype].scalar_name}. Use mask != 0."
            )
        if self.shape != mask.shape:
            mismatch = broadcast_error([self.shape, mask.shape])
            if mismatch is not None:
                raise mismatch
            self, mask = xp.broadcast_arrays(self, mask)
        return self[mask]

    @kernel.named("take")
    def take(self: Any, index: Any) -> Any:
        if dtypes[index.dtype] is not int64:
            raise RuntimeError(
                "take(): Expected a long tensor for index, but got "
                f"{dtypes[index.dtype].scalar_name}"
            )
        size = self.size
        if index.size and (bool(xp.any(index >= size)) or bool(xp.any(index < -size))):
            wrong = index[xp.logical_or(index >= size, index < -size)][0]
            raise IndexError(
                f"out of range: tried to access index {int(wrong)} on a tensor of {size} elements."
            )
        return xp.take(self.reshape(-1), index, 0)


def _define_along(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, dtypes = Numbers(capabilities), capabilities.dtypes

    def check_vector(name: str, index: Any) -> None:
        if index.ndim > 1:
            raise IndexError(
                f"{name}(): Index is supposed to be a vector, but has {index.ndim} dimensions"
            )
        if dtypes[index.dtype] not in (int32, int64):
            raise RuntimeError(
                f"{name}(): Expected dtype int32 or int64 for index, but got "
                f"{dtypes[index.dtype].scalar_name}"
            )

    def check_range(index: Any, size: int) -> None:
        if index.size and (bool(xp.amin(index) < 0) or bool(xp.amax(index) >= size)):
            wrong = index[xp.logical_or(index < 0, index >= size)].reshape(-1)[0]
            raise IndexError(f"index out of range in self: {int(wrong)} is not in [0, {size})")

    @kernel.named("index_select")
    def index_select(self: Any, dim: int, index: Any) -> Any:
        check_vector("index_select", index)
        axis = wrap_dim(dim, self.ndim)
        if not self.ndim and index.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} "
                "value(s). Give it a "
                "dimension: x.reshape(1)."
            )
        check_range(index, self.shape[axis] if self.ndim else 1)
        if not self.ndim:
            return capabilities.clone(self)
        return xp.take(self, index.reshape(-1), axis)

    @kernel.named("index_add")
    def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        check_vector("index_add_", index)
        axis = wrap_dim(dim, self.ndim)
        if self.dtype != source.dtype:
            raise RuntimeError(
                f"index_add_(): self ({dtypes[self.dtype].scalar_name}) and source "
                f"({dtypes[source.dtype].scalar_name}) must "
                "have the same scalar type"
            )
        index = index.reshape(-1)
        if source.ndim and axis >= source.ndim:
            raise RuntimeError(
                f"index_add_(): Indexing dim {axis} is out of bounds of the source tensor with "
                f"dim {source.ndim}"
            )
        along = source.shape[axis] if source.ndim else 1
        expected = list(self.shape)
        if self.ndim:
            expected[axis] = along
        if list(source.shape) != expected and (self.ndim or source.ndim):
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified "
                "dimension. "
                f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
            )
        if index.size != along:
            raise RuntimeError(
                f"index_add_(): Number of indices ({index.size}) should be equal to "
                f"source.size(dim): ({along}), for dim: {dim}"
            )
        check_range(index, self.shape[axis] if self.ndim else 1)
        if alpha != 1:
            source = source * numbers.like(source, alpha)
        if not self.ndim:
            return xp.add(self, source)
        return capabilities.index_add(capabilities.contiguous(self), axis, index, source)

    @kernel.named("embedding")
    def embedding(
        weight: Any,
        indices: Any,
        padding_idx: int = -1,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        if weight.ndim != 2:
            raise RuntimeError("'weight' must be 2-D")
        if dtypes[indices.dtype] not in (int32, int64):
            raise RuntimeError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                "types: Long, Int; but got "
                f"{dtypes[indices.dtype].scalar_name} instead (while checking arguments for "
                "embedding)"
            )
        check_range(indices, weight.shape[0])
        return xp.take(weight, indices, 0)

    @kernel.named("embedding_dense_backward")
    def embedding_dense_backward(
        grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Any:
        width = grad_output.shape[-1]
        flat, rows = indices.reshape(-1), grad_output.reshape(indices.size, width)
        if padding_idx >= 0:
            kept = flat != padding_idx
            flat, rows = flat[kept], rows[kept]
        if scale_grad_by_freq:
            frequency = xp.bincount(flat, minlength=num_weights)[flat].astype(rows.dtype)
            rows = rows / frequency[:, None]
        return capabilities.index_add(
            xp.zeros((num_weights, width), grad_output.dtype), 0, flat, rows
        )


def _define_scatter(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, dtypes = Numbers(capabilities), capabilities.dtypes

    def check_index(name: str, self: Any, index: Any, axis: int) -> None:
        if dtypes[index.dtype] not in (int32, int64):
            raise RuntimeError(
                f"{name}(): Expected dtype int32/int64 for index, but got "
                f"{dtypes[index.dtype].scalar_name}"
            )
        if max(index.ndim, 1) != max(self.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as input tensor"
            )
        size = self.shape[axis] if self.ndim else 1
        if bool(xp.amin(index) < 0) or bool(xp.amax(index) >= size):
            wrong = index[xp.logical_or(index < 0, index >= size)].reshape(-1)[0]
            raise RuntimeError(
                f"index {int(wrong)} is out of bounds for dimension {axis} with size {size}"
            )

    @kernel.named("gather")
    def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
        axis = wrap_dim(dim, self.ndim)
        if not index.size:
            return capabilities.empty(index.shape, self.dtype)
        check_index("gather", self, index, axis)
        if not self.ndim or not index.ndim:
            return xp.take(self.reshape(-1), index)
        if index.shape != self.shape:
            for each, (n, size) in enumerate(zip(index.shape, self.shape, strict=True)):
                if each != axis and n > size:
                    raise RuntimeError(
                        f"Size does not match at dimension {each} expected index "
                        f"{list(index.shape)} to be no larger than "
                        f"self {list(self.shape)} apart from dimension {axis}"
                    )
            self = self[
                tuple([_ALL if each == axis else slice(n) for each, n in enumerate(index.shape)])
            ]
        return capabilities.contiguous(xp.take_along_axis(self, index, axis))

    def scattered(name: str, self: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        axis = wrap_dim(dim, self.ndim)
        is_array = hasattr(source, "dtype")
        if is_array and source.dtype != self.dtype:
            raise RuntimeError(
                f"{name}(): Expected self.dtype to be equal to src.dtype. Convert one of them."
            )
        self = capabilities.contiguous(self)
        if not index.size:
            return capabilities.clone(self)
        check_index(name, self, index, axis)
        if is_array and max(source.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as src tensor. Reshape one "
                "of them."
            )
        fits = all(
            [
                n <= size
                for d, (n, size) in enumerate(zip(index.shape, self.shape, strict=False))
                if d != axis
            ]
        )
        if is_array and max(source.ndim, 1) == max(index.ndim, 1):
            fits = fits and all(
                [n <= size for n, size in zip(index.shape, source.shape, strict=False)]
            )
        if not fits:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
                "apart from dimension "
                f"{axis}"
                + (f" and to be no larger size than src {list(source.shape)}" if is_array else "")
            )
        shape = self.shape
        if not self.ndim or not index.ndim:
            self, index = self.reshape(-1), index.reshape(-1)
        if is_array:
            source = source.reshape(-1) if not source.ndim else source
            source = source[tuple([slice(n) for n in index.shape])]
        else:
            source = numbers.fitting(self, source)
        return capabilities.scatter(self, axis, index, source, accumulate).reshape(shape)

    @kernel.named("scatter.src", "scatter.value")
    def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
        return scattered("scatter", self, dim, index, src, False)

    @kernel.named("scatter_add")
    def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
        return scattered("scatter", self, dim, index, src, True)

    @kernel.helper("value_selecting_reduction_backward")
    def value_selecting_reduction_backward(
        grad: Any, dim: int, indices: Any, sizes: Sequence[int], keepdim: bool
    ) -> Any:
        if sizes and not keepdim:
            key = (_ALL,) * wrap_dim(dim, len(sizes)) + (None,)
            grad, indices = grad[key], indices[key]
        return scatter(xp.zeros(tuple(sizes), grad.dtype), dim, indices, grad)
