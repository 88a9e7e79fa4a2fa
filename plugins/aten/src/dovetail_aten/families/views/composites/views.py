"""Operators that are views, or copies where no view is possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import infer_size, wrap_dim
from dovetail_dispatcher.table import Constant, Shortcut
from dovetail_kernel import (
    MemoryFormat,
    backend_of_signature,
    contiguous_format,
    preserve_format,
    warn_user_once,
)

from ....composites.reshaping import reshape
from ....typing import Tensor


@Shortcut(None, defaults=("memory_format",), is_contiguous=True)
def contiguous(self: Any, *, memory_format: MemoryFormat | None = None) -> Any:
    """Return `self` if its elements lie in the order of the format, else a copy that does."""
    if memory_format is None:
        memory_format = contiguous_format
    as_it_lies = memory_format is preserve_format
    if memory_format is contiguous_format or as_it_lies:
        arrays = backend_of_signature(self._signature).arrays
        if arrays.is_contiguous(self.array):
            return self
    if as_it_lies:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator. Use clone()."
        )
    if self.is_contiguous(memory_format=memory_format):
        return self
    return F.clone(self, memory_format=memory_format)


@Shortcut(
    "aten::view",
    ("self", Constant((-1,))),
    defaults=("start_dim", "end_dim"),
    is_contiguous=True,
    other_ndim=1,
)
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return `self` with dimensions `start_dim` to `end_dim` made one."""
    sizes = _flattened(tuple(self.array.shape), start_dim, end_dim)
    return self if sizes is None else reshape(self, sizes)


@lru_cache(1024)
def _flattened(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...] | None:
    """Return `shape` with a range of dimensions made one; None if it stays as it is."""
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim. Exchange them."
        )
    if not shape:
        return (1,)
    if start == end:
        return None
    return (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    """Return `self` with dimension `dim` split into `sizes`."""
    return F.view(self, _unflattened(tuple(self.array.shape), dim, tuple(sizes)))


@lru_cache(1024)
def _unflattened(shape: tuple[int, ...], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` with one dimension made several."""
    if not sizes:
        raise RuntimeError(
            "unflatten: sizes must be non-empty. Give the sizes that replace the dimension."
        )
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error: Dimension specified as "
            f"{dim} but tensor has no dimensions. Give it one: x.reshape(1)."
        )
    dim = wrap_dim(dim, len(shape))
    return (*shape[:dim], *infer_size(sizes, shape[dim]), *shape[dim + 1 :])


def narrow(self: Tensor, dim: int, start: int, length: int) -> Any:
    """Return `length` elements along `dim` from `start` on."""
    shape = self.array.shape
    if not shape:
        raise RuntimeError(
            "narrow() cannot be applied to a 0-dim tensor. Give it a dimension: x.reshape(1)."
        )
    if length < 0:
        raise RuntimeError(
            "narrow(): length must be non-negative. Give a smaller start for fewer elements."
        )
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size}). Take less."
        )
    return F.slice(self, dim, start, start + length, 1)


def split_sizes(self: Tensor, split_size: Sequence[int], dim: int = 0) -> Any:
    """Return pieces of the given sizes along `dim`."""
    return list(F.split_with_sizes(self, split_size, dim))


def chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """Return at most `chunks` pieces along `dim`, all but the last of one size."""
    shape = self.array.shape
    if not shape:
        raise RuntimeError(
            "chunk expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    if chunks <= 0:
        raise RuntimeError(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}. Ask for one or more."
        )
    each = -(-shape[wrap_dim(dim, len(shape))] // chunks)
    if each == 0:
        return list(F.split_with_sizes(self, [0] * chunks, dim))
    return list(F.split_Tensor(self, each, dim))


def movedim(self: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Return `self` with the dimensions `source` at the positions `destination`."""
    sources = (source,) if isinstance(source, int) else tuple(source)
    destinations = (destination,) if isinstance(destination, int) else tuple(destination)
    ndim = self.ndim
    order = _moved(ndim, sources, destinations)
    return F.permute(self, order) if ndim else F.alias(self)


@lru_cache(1024)
def _moved(ndim: int, sources: tuple[int, ...], destinations: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order of dimensions with `sources` at the positions `destinations`."""
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({[*sources]} dims) should "
            f"contain the same number of dims as destination ({[*destinations]} "
            "dims). Give as many."
        )
    places = {
        "source": [wrap_dim(dim, ndim) for dim in sources],
        "destination": [wrap_dim(dim, ndim) for dim in destinations],
    }
    for kind, dims in places.items():
        if len(set(dims)) != len(dims):
            raise RuntimeError(
                f"movedim: repeated dim in `{kind}` ({dims}). Name every dimension once."
            )
    at = dict(zip(places["destination"], places["source"], strict=True))
    rest = iter([dim for dim in range(ndim) if dim not in places["source"]])
    return tuple([at[place] if place in at else next(rest) for place in range(ndim)])


moveaxis = movedim
swapaxes = F.transpose
swapdims = F.transpose
broadcast_to = F.expand


def view_as(self: Tensor, other: Tensor) -> Any:
    """Return a view in the shape of `other`."""
    return F.view(self, tuple(other.shape))


def reshape_as(self: Tensor, other: Tensor) -> Any:
    """Return the elements in the shape of `other`."""
    return F.reshape(self, tuple(other.shape))


def expand_as(self: Tensor, other: Tensor) -> Any:
    """Return `self` broadcast to the shape of `other`."""
    return F.expand(self, tuple(other.shape))


def sum_to_size(self: Any, size: Sequence[int]) -> Any:
    """Return `self` summed over the dimensions along which `size` would be broadcast to its
    shape.
    """
    shape, size = tuple(self.shape), tuple(size)
    extra = len(shape) - len(size)
    if extra < 0 or any([n not in (1, shape[extra + dim]) for dim, n in enumerate(size)]):
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}. Give a shape "
            "that broadcasts to it."
        )
    dims = [d for d in range(len(shape)) if d < extra or (size[d - extra] == 1 and shape[d] != 1)]
    if not size:
        return F.sum(self)
    if not dims:
        return self
    summed = F.sum(self, tuple(dims), True)
    return F.view(summed, size) if extra else summed


@Shortcut("aten::permute", ("self", Constant((1, 0))), ndims=(("self", 2),))
def numpy_T(self: Tensor) -> Any:
    """Return `self` with its dimensions in the opposite order."""
    ndim = self.ndim
    if ndim != 2:
        _warn_of_transpose(ndim)
    return F.permute(self, list(range(ndim - 1, -1, -1)))


@Shortcut("aten::transpose.int", ("self", Constant(-2), Constant(-1)), ndims=(("self", 2),))
def mT(self: Tensor) -> Any:
    """Return the transposes of the matrices in the last two dimensions."""
    if not self.ndim:
        warn_user_once("tensor.mT is deprecated on 0-D tensors, where it does nothing.")
        return self
    return F.transpose(_matrices(self, "tensor.mT"), -2, -1)


def mH(self: Tensor) -> Any:
    """Return the adjoints of the matrices in the last two dimensions."""
    return adjoint(self, "tensor.mH")


def adjoint(self: Tensor, called: str = "tensor.adjoint()") -> Any:
    """Return the adjoints of the matrices in the last two dimensions; a tensor without dimensions
    is its own.
    """
    if not self.ndim:
        warn_user_once(f"{called} is deprecated on 0-D tensors. Consider using x.conj().")
        return F.conj(self)
    return F.conj(F.transpose(_matrices(self, called), -2, -1))


def matrix_H(self: Tensor) -> Any:
    """Return the adjoint of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor. "
            "Consider using mH."
        )
    if not self.ndim:
        warn_user_once("tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return F.conj(self)
    return F.conj(F.transpose(self, 0, 1))


def _warn_of_transpose(ndim: int) -> None:
    """Issue the warning of ``x.T`` of other than two dimensions, once per process."""
    if not ndim:
        warn_user_once("tensor.T is deprecated on 0-D tensors, where it does nothing.")
        return
    warn_user_once(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
        "deprecated. Use `x.mT` to transpose batches of matrices, or "
        "`x.permute(*range(x.ndim - 1, -1, -1))` to reverse the dimensions."
    )


def _matrices(tensor: Tensor, what: str) -> Any:
    if tensor.ndim < 2:
        raise RuntimeError(
            f"{what} is only supported on matrices or batches of matrices. Got {tensor.ndim}-D "
            "tensor. Add a dimension."
        )
    return tensor


def positive(self: Any) -> Any:
    """Return `self`."""
    if "bool" in str(self.dtype):
        raise RuntimeError(
            "The `+` operator, on a bool tensor is not supported. Convert it to a number type."
        )
    return self


def select_backward(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` at `index` of `dim`."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.select(result, dim, index), grad_output)
    return result


def slice_backward(
    grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` in the slice of `dim`."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.slice(result, dim, start, end, step), grad_output)
    return result


def diagonal_backward(
    grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Any:
    """Return zeros of shape `input_sizes` with `grad_output` on a diagonal."""
    result = F.new_zeros(grad_output, input_sizes)
    F.copy_(F.diagonal(result, offset, dim1, dim2), grad_output)
    return result
