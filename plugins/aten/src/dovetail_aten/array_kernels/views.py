"""Views: other shapes and strides of the same memory. Every result shares memory with its argument,
down to 0-d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import complex64, complex128, float32, float64

from .capabilities import Capabilities
from .dims import wrap_dim, wrap_dims
from .table import KernelTable

_ALL = slice(None)


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_reshapes(kernel, capabilities)
    _define_permutations(kernel)
    _define_selections(xp, kernel, capabilities)
    _define_pieces(kernel)
    _define_memory(kernel, capabilities)


def resolve_shape(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return `size` with a -1 replaced by what is left of `numel` elements.

    Raises
    ------
    RuntimeError
        If the sizes do not multiply to `numel`, or leave the -1 open.
    """
    shape = list(size)
    known, open_dim = 1, None
    for dim, length in enumerate(shape):
        if length == -1:
            if open_dim is not None:
                raise RuntimeError("only one dimension can be inferred: give at most one -1")
            open_dim = dim
        elif length < 0:
            raise RuntimeError(f"invalid shape dimension {length} at index {dim} of shape {shape}")
        else:
            known *= length
    if open_dim is None:
        if known == numel:
            return tuple(shape)
    elif known:
        if numel % known == 0:
            shape[open_dim] = numel // known
            return tuple(shape)
    elif numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shape} because the unspecified "
            "dimension size -1 can be any "
            "value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")


def _define_reshapes(kernel: KernelTable, capabilities: Capabilities) -> None:
    def view(self: Any, size: Sequence[int]) -> Any:
        shape = resolve_shape(size, self.size)
        result = capabilities.view(self, shape)
        if result is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead."
            )
        return result

    kernel("view", view)

    @kernel.named("_unsafe_view")
    @kernel.helper("reshape")
    def reshape(self: Any, shape: Sequence[int]) -> Any:
        shape = tuple(shape)
        if self.flags.c_contiguous and -1 not in shape and math.prod(shape) == self.size:
            return self.reshape(shape)
        return self.reshape(resolve_shape(shape, self.size))

    @kernel.named("expand")
    def expand(self: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
        shape = tuple(size)
        own = self.shape
        if shape == own:
            return self
        lead = len(shape) - len(own)
        if lead < 0:
            raise RuntimeError(
                f"expand(tensor of shape {list(own)}, size={list(shape)}): the number of sizes "
                f"provided ({len(shape)}) must "
                f"be greater or equal to the number of dimensions in the tensor ({len(own)})"
            )
        return capabilities.expand(
            self, tuple([_expanded(shape, own, dim, lead) for dim in range(len(shape))])
        )

    @kernel.named("unsqueeze")
    def unsqueeze(self: Any, dim: int) -> Any:
        axis = wrap_dim(dim, self.ndim + 1)
        return self[(_ALL,) * axis + (None, ...)]

    @kernel.named("squeeze", "squeeze.dim", "squeeze.dims")
    def squeeze(self: Any, dim: int | Sequence[int] | None = None) -> Any:
        if dim is None:
            return self[(*[0 if size == 1 else _ALL for size in self.shape], ...)]
        dims = wrap_dims(dim, self.ndim) if isinstance(dim, int) or dim else ()
        key = tuple(
            [0 if size == 1 and axis in dims else _ALL for axis, size in enumerate(self.shape)]
        )
        return self[(*key, ...)]


def _expanded(shape: tuple[int, ...], own: tuple[int, ...], dim: int, lead: int) -> int:
    """Return the size of dimension `dim` of an expanded array."""
    size = shape[dim]
    if dim < lead:
        if size < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                f"non-existing dimension {dim}"
            )
        return size
    present = own[dim - lead]
    if size in (-1, present):
        return present
    if present != 1 or size < 0:
        raise RuntimeError(
            f"The expanded size of the tensor ({size}) must match the existing size ({present}) at "
            "non-singleton dimension "
            f"{dim}.  Target sizes: {list(shape)}.  Tensor sizes: {list(own)}"
        )
    return size


def _define_permutations(kernel: KernelTable) -> None:
    @kernel.named("permute")
    def permute(self: Any, dims: Sequence[int]) -> Any:
        ndim = self.ndim
        if len(dims) != ndim:
            raise RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                "length of the desired "
                f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
                f"{len(dims)}"
            )
        order = [wrap_dim(dim, ndim) for dim in dims]
        if len(set(order)) < ndim:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        return self.transpose(order)

    @kernel.named("transpose.int")
    def transpose(self: Any, dim0: int, dim1: int) -> Any:
        ndim = self.ndim
        dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
        return self.swapaxes(dim0, dim1) if ndim else self

    @kernel.named("t")
    def t(self: Any) -> Any:
        if self.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D. Use "
                "transpose(dim0, dim1) or mT."
            )
        return self.T


def _define_selections(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    @kernel.named("select.int")
    def select(self: Any, dim: int, index: int) -> Any:
        if not self.ndim:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        axis = wrap_dim(dim, self.ndim)
        try:
            return self[(_ALL,) * axis + (index, ...)]
        except IndexError:
            raise IndexError(
                f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
                f"dimension {axis}"
            ) from None

    @kernel.named("slice.Tensor")
    def slice_(
        self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> Any:
        if not self.ndim:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if step <= 0:
            raise RuntimeError(
                f"slice step must be positive, but is {step}. Use flip to read backwards."
            )
        return self[(_ALL,) * wrap_dim(dim, self.ndim) + (slice(start, end, step),)]

    @kernel.named("diagonal")
    def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        first, second = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
        if first == second:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
        return capabilities.diagonal(self, offset, first, second)

    def embedding_of(sizes: Sequence[int], key: tuple[slice, ...], grad: Any) -> Any:
        return capabilities.embed(grad, tuple(sizes), key, 0)

    @kernel.named("select_backward")
    def select_backward(grad_output: Any, input_sizes: Sequence[int], dim: int, index: int) -> Any:
        axis = wrap_dim(dim, len(input_sizes))
        index %= input_sizes[axis]
        key = (_ALL,) * axis + (slice(index, index + 1),)
        return embedding_of(input_sizes, key, grad_output[(_ALL,) * axis + (None, ...)])

    @kernel.named("slice_backward")
    def slice_backward(
        grad_output: Any, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
    ) -> Any:
        axis = wrap_dim(dim, len(input_sizes))
        return embedding_of(input_sizes, (_ALL,) * axis + (slice(start, end, step),), grad_output)

    @kernel.named("diagonal_backward")
    def diagonal_backward(
        grad_output: Any, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
    ) -> Any:
        sizes = tuple(input_sizes)
        first, second = wrap_dim(dim1, len(sizes)), wrap_dim(dim2, len(sizes))
        flat = capabilities.diagonal(
            xp.arange(math.prod(sizes)).reshape(sizes), offset, first, second
        )
        zeros = xp.zeros(math.prod(sizes), grad_output.dtype)
        return capabilities.index_put(zeros, (flat,), grad_output, False).reshape(sizes)


def _define_pieces(kernel: KernelTable) -> None:
    @kernel.named("unbind.int")
    def unbind(self: Any, dim: int = 0) -> list[Any]:
        if not self.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        before = (_ALL,) * wrap_dim(dim, self.ndim)
        return [self[(*before, index, ...)] for index in range(self.shape[len(before)])]

    @kernel.named("split.Tensor")
    def split(self: Any, split_size: int, dim: int = 0) -> list[Any]:
        if not self.ndim:
            raise RuntimeError("split expects at least a 1-dimensional tensor")
        axis = wrap_dim(dim, self.ndim)
        size = self.shape[axis]
        if split_size < 0:
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={split_size}"
            )
        if split_size == 0 and size:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
            )
        before = (_ALL,) * axis
        return [
            self[(*before, slice(start, start + split_size))]
            for start in range(0, max(size, 1), max(split_size, 1))
        ]

    @kernel.named("split_with_sizes")
    def split_with_sizes(self: Any, split_sizes: Sequence[int], dim: int = 0) -> list[Any]:
        if not self.ndim:
            raise RuntimeError(
                "split expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
            )
        axis = wrap_dim(dim, self.ndim)
        size = self.shape[axis]
        if any(length < 0 for length in split_sizes):
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(split_sizes)}"
            )
        if sum(split_sizes) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
                f"size at dimension {axis}), "
                f"but got split_sizes={list(split_sizes)}"
            )
        before, pieces, start = (_ALL,) * axis, [], 0
        for length in split_sizes:
            pieces.append(self[(*before, slice(start, start + length))])
            start += length
        return pieces


def _define_memory(kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes, native_dtypes = capabilities.dtypes, capabilities.native_dtypes
    parts = {complex64: float32, complex128: float64}
    wholes = {part: whole for whole, part in parts.items()}

    @kernel.named("alias", "detach")
    def alias(self: Any) -> Any:
        return self

    @kernel.named("as_strided")
    def as_strided(
        self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Any:
        if len(size) != len(stride):
            raise RuntimeError(
                f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
            )
        if any(step < 0 for step in stride):
            raise RuntimeError(
                "as_strided: Negative strides are not supported at the moment, got strides: "
                f"{list(stride)}"
            )
        if any(length < 0 for length in size):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
            )
        result = capabilities.as_strided(self, tuple(size), tuple(stride), storage_offset)
        if result is None:
            itemsize = self.dtype.itemsize
            reach = 1 + (storage_offset or 0)
            reach += sum([(length - 1) * step for length, step in zip(size, stride, strict=True)])
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
                f"{storage_offset or 0}, and itemsize "
                f"{itemsize} requiring a storage size of {reach * itemsize} are out of bounds for "
                "the storage"
            )
        return result

    @kernel.named("view.dtype")
    def view_dtype(self: Any, dtype: Any) -> Any:
        if dtype == self.dtype:
            return self
        own, other = dtypes[self.dtype], dtypes[dtype]
        words = f"to view {own.scalar_name} as {other.scalar_name} (different element sizes)"
        if own.itemsize != other.itemsize:
            if not self.ndim:
                raise RuntimeError(f"self.dim() cannot be 0 {words}")
            ratio = other.itemsize // own.itemsize
            if ratio > 1 and self.shape[-1] % ratio:
                raise RuntimeError(
                    f"self.size(-1) must be divisible by {ratio} {words}, but got "
                    f"{self.shape[-1]}. Pad it first."
                )
        try:
            return capabilities.reinterpret(self, dtype)
        except ValueError:
            raise RuntimeError(
                f"self.stride(-1) must be 1 {words}. Use contiguous() first."
            ) from None

    @kernel.named("view_as_real")
    def view_as_real(self: Any) -> Any:
        part = parts.get(dtypes[self.dtype])
        if part is None:
            raise RuntimeError(
                "view_as_real is only supported for complex tensors, but this one is "
                f"{dtypes[self.dtype]}"
            )
        return capabilities.reinterpret(self[..., None], native_dtypes[part])

    @kernel.named("view_as_complex")
    def view_as_complex(self: Any) -> Any:
        whole = wholes.get(dtypes[self.dtype])
        if whole is None:
            raise RuntimeError(
                "view_as_complex is only supported for half, float and double tensors, but got a "
                "tensor of scalar type: "
                f"{dtypes[self.dtype].scalar_name}"
            )
        if not self.ndim:
            raise RuntimeError("Input tensor must have one or more dimensions")
        if self.shape[-1] != 2:
            raise RuntimeError("Tensor must have a last dimension of size 2")
        try:
            return capabilities.reinterpret(self, native_dtypes[whole])[
                (*(_ALL,) * (self.ndim - 1), 0, ...)
            ]
        except ValueError:
            raise RuntimeError(
                "Tensor must have a last dimension with stride 1. Use contiguous() first."
            ) from None

    @kernel.helper("contiguous")
    def contiguous(self: Any) -> Any:
        return capabilities.contiguous(self)
