"""Tensors cut into pieces, at places that need not lie in equal distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import check_room, wrap_dim
from dovetail_kernel import bool as bool_
from dovetail_kernel import contiguous_format, int64

from ...typing import Tensor


def tensor_split_into(self: Tensor, sections: int, dim: int = 0) -> Any:
    """Return `sections` pieces along `dim`; the first ones are longer by one if the size is not a
    multiple of `sections`.
    """
    size = _size_along(self, dim)
    if sections <= 0:
        raise RuntimeError(
            f"number of sections must be larger than 0, got {sections}. Ask for one or more."
        )
    check_room(sections, 256)
    least, longer = divmod(size, sections)
    ends = [least * number + min(number, longer) for number in range(1, sections + 1)]
    return [
        F.slice(self, dim, start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def tensor_split_at(self: Tensor, indices: Sequence[int], dim: int = 0) -> Any:
    """Return the pieces along `dim` that end before each of `indices`, and what is left."""
    size = _size_along(self, dim)
    starts, ends = [0, *indices], [*indices, size]
    return [F.slice(self, dim, start, end) for start, end in zip(starts, ends, strict=True)]


def tensor_split_by_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> Any:
    """Return pieces along `dim`: as many as a tensor of one number says, or cut at its indices."""
    _size_along(self, dim)
    given = tensor_indices_or_sections
    if not given.is_cpu:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
            f"{given.device}. Move it there: indices.cpu()."
        )
    if given.dtype is not int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{given.dtype.scalar_name}. Convert it: indices.long()."
        )
    if given.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {given.ndim} dims. Flatten it."
        )
    if given.ndim == 0:
        return tensor_split_into(self, int(F.item(given)), dim)
    return tensor_split_at(self, [int(F.item(each)) for each in F.unbind(given)], dim)


def _size_along(self: Any, dim: int) -> int:
    """Return the size of the dimension to cut along."""
    if not self.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with "
            f"{self.ndim} dims. Give it a dimension: x.reshape(1)."
        )
    return int(self.shape[wrap_dim(dim, self.ndim)])


def hsplit_into(self: Tensor, sections: int) -> Any:
    """Return `sections` equal pieces along dimension 1, of a vector along 0."""
    return _split_into("hsplit", self, sections, 1 if _checked("hsplit", self, 1).ndim > 1 else 0)


def hsplit_at(self: Tensor, indices: Sequence[int]) -> Any:
    """Return the pieces along dimension 1, of a vector along 0, cut at `indices`."""
    return tensor_split_at(self, indices, 1 if _checked("hsplit", self, 1).ndim > 1 else 0)


def vsplit_into(self: Tensor, sections: int) -> Any:
    """Return `sections` equal pieces along dimension 0."""
    return _split_into("vsplit", _checked("vsplit", self, 2), sections, 0)


def vsplit_at(self: Tensor, indices: Sequence[int]) -> Any:
    """Return the pieces along dimension 0, cut at `indices`."""
    return tensor_split_at(_checked("vsplit", self, 2), indices, 0)


def dsplit_into(self: Tensor, sections: int) -> Any:
    """Return `sections` equal pieces along dimension 2."""
    return _split_into("dsplit", _checked("dsplit", self, 3), sections, 2)


def dsplit_at(self: Tensor, indices: Sequence[int]) -> Any:
    """Return the pieces along dimension 2, cut at `indices`."""
    return tensor_split_at(_checked("dsplit", self, 3), indices, 2)


def _checked(name: str, self: Any, least: int) -> Any:
    """Return `self`, which must have at least so many dimensions."""
    if self.ndim < least:
        plural = "" if least == 1 else "s"
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension{plural}, but got a "
            f"tensor with {self.ndim} dimensions! Add some with unsqueeze."
        )
    return self


def _split_into(name: str, self: Any, sections: int, dim: int) -> Any:
    size = self.shape[dim]
    if sections == 0 or size % sections:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{size} is not divisible by the split_size {sections}! Use tensor_split."
        )
    return tensor_split_into(self, sections, dim)


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """Return at most `chunks` pieces along `dim`, as `chunk` does, that autograd does not take for
    views.
    """
    if self.ndim == 0:
        raise RuntimeError(
            "chunk expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    if chunks <= 0:
        raise RuntimeError(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}. Ask for one or more."
        )
    each = -(-self.shape[wrap_dim(dim, self.ndim)] // chunks)
    if each == 0:
        return list(F.unsafe_split_with_sizes(self, [0] * chunks, dim))
    return list(F.unsafe_split(self, each, dim))


def narrow_at(self: Any, dim: int, start: Tensor, length: int) -> Any:
    """Return `length` elements along `dim` from the number on that `start`, a tensor, holds."""
    if (
        start.ndim
        or start.dtype.is_floating_point
        or start.dtype.is_complex
        or start.dtype is bool_
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor. Give one, or an int.")
    return F.narrow(self, dim, int(F.item(start)), length)


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Any:
    """Return a copy of `length` elements along `dim` from `start` on."""
    return F.clone(F.narrow(self, dim, start, length), memory_format=contiguous_format)
