"""Arithmetic, sums, selection and rearrangement of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import can_cast, promote_types, sparse_coo, sparse_csc, sparse_csr

from .conversions import converted, in_layout, summed, written
from .coordinate_tensor import CoordinateTensor, handles, make, refusal, values_at

_tensor: Any = Tensor


def _is_number(value: Any) -> bool:
    """Return whether `value` is one number, or a tensor of no dimension that holds one."""
    if isinstance(value, CoordinateTensor):
        return False
    return (
        value.ndim == 0 if isinstance(value, Tensor) else isinstance(value, int | float | complex)
    )


@handles(aten.mul, aten.multiply, compressed=True)
def mul(input: Any, other: Any) -> Any:
    """Return the product with a number, or element by element with a tensor of the same shape."""
    if not isinstance(input, CoordinateTensor):
        return mul(other, input)
    if _is_number(other):
        return converted(input, input._elements * other)
    if tuple(input.shape) != tuple(other.shape):
        raise refusal(f"mul() of shapes {list(input.shape)} and {list(other.shape)}, which differ")
    if isinstance(other, CoordinateTensor):  # the product of sums is not the sum of products
        input, other = summed(input), summed(other)
    factors = values_at(other, input._coordinates, tuple(input.shape))
    return converted(input, input._elements * factors)


@handles(aten.div, aten.divide, aten.true_divide, compressed=True)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Return the quotient by a number."""
    if not isinstance(input, CoordinateTensor) or not _is_number(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got "
            f"{'a sparse divisor' if isinstance(other, CoordinateTensor) else 'a dense one'}). "
            "Use to_dense()."
        )
    if rounding_mode is not None:
        input = summed(input)
    return converted(input, aten.div(input._elements, other, rounding_mode=rounding_mode))


@handles(aten.floor_divide, compressed=True)
def floor_divide(input: Any, other: Any) -> Any:
    """Return the quotient by a number, rounded down."""
    return div(input, other, rounding_mode="floor")


@handles(aten.add, compressed=True)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Return the sum of two sparse tensors, or of a strided and a sparse one, which is strided."""
    if not isinstance(input, CoordinateTensor):
        if not isinstance(input, Tensor):
            raise refusal("add() of a number and a sparse tensor")
        return aten.add(input, other.to_dense(), alpha=alpha)
    if not isinstance(other, CoordinateTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != "
            f"{list(other.shape)}. Sparse tensors do not broadcast."
        )
    if input._form is not other._form:
        raise refusal(f"add() of a tensor of layout {input._form} and one of {other._form}")
    values = other._elements if alpha == 1 else other._elements * alpha
    if aten.equal(input._coordinates, other._coordinates):
        return converted(input, input._elements + values)
    if input._coordinates.shape[0] != other._coordinates.shape[0]:
        raise refusal("add() of tensors with other numbers of sparse dimensions")
    dtype = promote_types(input.dtype, other.dtype)
    indices = aten.cat([input._coordinates, other._coordinates], 1)
    joined = make(
        indices, aten.cat([input._elements.to(dtype), values.to(dtype)]), tuple(input.shape)
    )
    if input._form is not sparse_coo:
        return in_layout(joined, input._form)
    return joined.coalesce() if input._unique and other._unique else joined


@handles(aten.sub, aten.subtract, compressed=True)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Return the difference of two sparse tensors, or of a strided and a sparse one."""
    return add(input, other, alpha=-alpha)


def _in_place(function: Any, self: Any, other: Any, **options: Any) -> Any:
    """Let a sparse tensor hold the result of a function, or add a sparse tensor to a strided one:
    only to the elements that it stores.
    """
    if isinstance(self, CoordinateTensor):
        return written(self, function(self, other, **options))
    if function is not add:
        return getattr(self, f"{function.__name__}_")(other.to_dense(), **options)
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(self.shape)} while other has size {list(other.shape)}"
        )
    values = other._elements * options.get("alpha", 1)
    places = other._coordinates.unbind(0)
    if not can_cast(promote_types(values.dtype, self.dtype), self.dtype):
        raise RuntimeError(
            f"Can't convert result type {values.dtype.scalar_name} to output "
            f"{self.dtype.scalar_name} in add operation. Convert it."
        )
    values = values.to(self.dtype)
    if len(places) == 1:
        return self.index_add_(0, places[0], values)
    return self.index_put_(places, values, accumulate=True)


for _function in (add, sub, mul, div, floor_divide):
    handles(getattr(_tensor, f"{_function.__name__}_"), compressed=True)(
        partial(_in_place, _function)
    )


@handles(aten.pow, compressed=True)
def power(input: Any, exponent: Any) -> Any:
    """Return a power with a positive number as its exponent: of zero, it is zero."""
    if not isinstance(exponent, int | float) or exponent <= 0:
        raise refusal(f"pow() with the exponent {exponent!r}, where only a positive number is")
    input = summed(input)
    return converted(input, aten.pow(input._elements, exponent))


@handles(aten.sum, compressed=True)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Return the sum of all elements, strided, or along dimensions, which is sparse while some
    sparse dimension is left.
    """
    values, rank = input._elements, input.ndim
    if dtype is not None:
        values = values.to(dtype)
    if dim is None:
        return values.sum()
    given = [dim] if isinstance(dim, int) else list(dim)
    for each in given:
        if not -rank <= each < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
                f"got {each})"
            )
    dims = {each % rank for each in given} or set(range(rank))
    form = input._form
    if form is not sparse_coo and not keepdim:
        raise RuntimeError(
            f"sum() along dimensions of a tensor of layout {form} needs keepdim=True."
        )
    if keepdim:
        indices = input._coordinates.clone()
        if form is sparse_coo or max(dims) > 1:
            raise refusal("sum() with keepdim=True")
        indices[sorted(dims)] = 0
        size = [1 if each in dims else n for each, n in enumerate(input.shape)]
        return in_layout(make(indices, values, size), form)
    sparse = input._coordinates.shape[0]
    inner = [each - sparse + 1 for each in sorted(dims) if each >= sparse]
    if inner:
        values = values.sum(inner)
    kept = [each for each in range(sparse) if each not in dims]
    if not kept:
        return values.sum(0)
    size = [n for each, n in enumerate(input.shape) if each not in dims]
    indices = input._coordinates if len(kept) == sparse else input._coordinates[kept]
    unique = input._unique and len(kept) == sparse
    return make(indices, values, size, unique=unique).coalesce()


@handles(aten.transpose, aten.swapaxes, aten.swapdims, compressed=True)
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Return the tensor with two of its sparse dimensions, or two of the others, exchanged."""
    order = list(range(input.ndim))
    first, second = _dim(input, dim0), _dim(input, dim1)
    order[first], order[second] = second, first
    return permute(input, order)


@handles(aten.permute)
def permute(input: Any, *dims: Any) -> Any:
    """Return the tensor with its dimensions in another order; sparse ones stay before others."""
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [_dim(input, each) for each in given]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(f"permute(): dims {list(given)} name each dimension once")
    sparse = input._coordinates.shape[0]
    if sorted(order[:sparse]) != list(range(sparse)):
        raise refusal("exchanging a sparse dimension and a dense one")
    if order == sorted(order):
        return input
    values = input._elements.permute(0, *[each - sparse + 1 for each in order[sparse:]])
    size = [input.shape[each] for each in order]
    same = order[:sparse] == list(range(sparse))
    indices = input._coordinates if same else input._coordinates[order[:sparse]]
    form = input._form
    if form is sparse_coo or same:
        return make(indices, values, size, unique=input._unique and same, layout=form)
    turned = sparse_csc if form is sparse_csr else sparse_csr
    return make(indices, values, size, unique=input._unique, layout=turned)


def _dim(input: Tensor, dim: int) -> int:
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, "
            f"{input.ndim - 1}], but got {dim})"
        )
    return dim % input.ndim


@handles(aten.t, _tensor.T.__get__, compressed=True)
def turned(input: Any) -> Any:
    """Return the transpose of a matrix."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input if input.ndim < 2 else transpose(input, 0, 1)


@handles(_tensor.mT.__get__, compressed=True)
def _matrices_turned(input: Any) -> Any:
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D "
            "tensor."
        )
    return transpose(input, -2, -1)


@handles(aten.unsqueeze)
def unsqueeze(input: Any, dim: int) -> Any:
    """Return the tensor with a dimension of length 1 inserted."""
    rank, sparse = input.ndim, input._coordinates.shape[0]
    if not -rank - 1 <= dim <= rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank - 1}, {rank}], but got "
            f"{dim})"
        )
    dim %= rank + 1
    size = [*input.shape[:dim], 1, *input.shape[dim:]]
    if dim > sparse:
        values = input._elements.unsqueeze(dim - sparse + 1)
        return make(input._coordinates, values, size, unique=input._unique)
    rows = list(input._coordinates.unbind(0))
    rows.insert(dim, input._coordinates.new_zeros(input._nnz()))
    return make(aten.stack(rows), input._elements, size, unique=input._unique)


@handles(aten.select)
def select(input: Any, dim: int, index: int) -> Any:
    """Return the part at one index; strided where no sparse dimension is left."""
    dim, sparse = _dim(input, dim), input._coordinates.shape[0]
    length = input.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {dim}"
        )
    size = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if dim >= sparse:
        values = input._elements.select(dim - sparse + 1, index)
        return make(input._coordinates, values, size, unique=input._unique)
    at = (input._coordinates[dim] == index % length).nonzero().reshape(-1)
    values = input._elements.index_select(0, at)
    if sparse == 1:
        return values.sum(0)
    others = [each for each in range(sparse) if each != dim]
    indices = input._coordinates[others].index_select(1, at)
    return make(indices, values, size, unique=input._unique)


@handles(aten.index_select)
def index_select(input: Any, dim: int, index: Tensor) -> Any:
    """Return the parts at several indices of a dimension, in their order."""
    if not isinstance(input, CoordinateTensor):
        raise refusal("index_select() with sparse indices")
    return aten.stack([select(input, dim, each) for each in index.tolist()], dim)


@handles(_tensor.__getitem__)
def _getitem(input: Any, key: Any) -> Any:
    keys = list(key) if isinstance(key, tuple) else [key]
    if not isinstance(input, CoordinateTensor):
        raise refusal("indexing by a sparse tensor")
    if any([each is Ellipsis for each in keys]):
        at = next(iter([i for i, each in enumerate(keys) if each is Ellipsis]))
        taken = len([each for each in keys if each is not None]) - 1
        keys[at : at + 1] = [slice(None)] * (input.ndim - taken)
    result: Any = input
    dim = 0
    for each in keys:
        if each is None:
            result = result.unsqueeze(dim)
            dim += 1
        elif isinstance(each, slice):
            if each != slice(None):
                result = _sliced(result, dim, each)
            dim += 1
        elif isinstance(each, int) and not isinstance(each, bool):
            if dim >= result.ndim:
                raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
            result = result.select(dim, each)
        else:
            raise refusal(f"indexing a sparse tensor by {type(each).__name__}")
    return result


def _sliced(input: Any, dim: int, key: slice) -> Any:
    if not isinstance(input, CoordinateTensor):
        raise refusal("a slice behind the last sparse dimension")
    dim, sparse = _dim(input, dim), input._coordinates.shape[0]
    start, stop, step = key.indices(input.shape[dim])
    if step < 1:
        raise ValueError("step must be greater than zero")
    size = [*input.shape[:dim], len(range(start, stop, step)), *input.shape[dim + 1 :]]
    if dim >= sparse:
        dense = (slice(None),) * (dim - sparse + 1)
        return make(input._coordinates, input._elements[(*dense, key)], size, unique=input._unique)
    row = input._coordinates[dim]
    inside = (row >= start) & (row < stop) & ((row - start) % step == 0)
    at = inside.nonzero().reshape(-1)
    rows = [each.index_select(0, at) for each in input._coordinates.unbind(0)]
    rows[dim] = aten.div(rows[dim] - start, step, rounding_mode="floor")
    values = input._elements.index_select(0, at)
    return make(aten.stack(rows), values, size, unique=input._unique)


@handles(aten.cat, aten.concat, aten.concatenate)
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Return sparse tensors one behind the other along a dimension."""
    if not all([isinstance(each, CoordinateTensor) for each in tensors]):
        raise RuntimeError("cat(): sparse and strided tensors do not mix. Use to_dense().")
    first = tensors[0]
    dim, sparse = _dim(first, dim), first._coordinates.shape[0]
    size = list(first.shape)
    for each in tensors[1:]:
        other = list(each.shape)
        if other[:dim] + other[dim + 1 :] != size[:dim] + size[dim + 1 :] or (
            each._coordinates.shape[0] != sparse
        ):
            raise RuntimeError(
                f"cat(): sizes must match except in dimension {dim}, but got {list(first.shape)} "
                f"and {other}"
            )
    if dim >= sparse:
        raise refusal("cat() along a dense dimension")
    parts, start = [], 0
    for each in tensors:
        rows = list(each._coordinates.unbind(0))
        rows[dim] = rows[dim] + start
        parts.append(aten.stack(rows))
        start += each.shape[dim]
    size[dim] = start
    return make(aten.cat(parts, 1), aten.cat([each._elements for each in tensors]), size)


@handles(aten.stack)
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Return sparse tensors of one shape side by side along a new dimension."""
    if not all([isinstance(each, CoordinateTensor) for each in tensors]):
        raise RuntimeError("stack(): sparse and strided tensors do not mix. Use to_dense().")
    return cat([unsqueeze(each, dim) for each in tensors], dim % (tensors[0].ndim + 1))


@handles(aten.norm, _tensor.norm)
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    """Return the norm of all elements."""
    count = max(input.ndim, 1)
    dims = [dim] if isinstance(dim, int) else dim or range(count)
    if keepdim or {each + count * (each < 0) for each in dims} != {*range(count)}:
        raise refusal("norm() along some dimensions, or with keepdim=True")
    return input.coalesce()._elements.norm(p, **options)


@handles(aten.zeros_like, compressed=True)
def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """Return a sparse tensor of the same shape that stores nothing."""
    if options.get("layout") not in (None, input.layout):
        raise refusal("zeros_like() in another layout")
    if options.get("memory_format") is not None and input.is_sparse:
        raise RuntimeError("memory format option is only supported by strided tensors")
    values = input._elements.detach()[:0].to(device or input.device, dtype or input.dtype)
    indices = input._coordinates[:, :0].to(values.device)
    return make(indices, values, tuple(input.shape), layout=input._form)
