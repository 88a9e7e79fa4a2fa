"""The small pieces that batching rules are made of.

A rule is called as ``rule(info, in_dims, *args, **kwargs)`` with every argument of the schema, the
keyword-only ones by name, and returns ``(outputs, out_dims)``. The tensors are physical. Rules of
this package, unlike a user's, take only 0 and None in `in_dims`: callers keep the batch dimension
first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._generated import functions as F
from ..kernel_support.dims import wrap_dim
from ..typing import Tensor

Rule = Callable[..., tuple[Any, Any]]


def logical_ndim(tensor: Any, in_dim: int | None) -> int:
    """Return the number of dimensions of one sample."""
    ndim: int = tensor.array.ndim
    return ndim if in_dim is None else ndim - 1


def logical_shape(tensor: Any, in_dim: int | None) -> tuple[int, ...]:
    """Return the shape of one sample."""
    shape = tuple(tensor.array.shape)
    return shape if in_dim is None else shape[1:]


def batched(tensor: Any, in_dim: int | None, size: int) -> Any:
    """Return `tensor` with the batch dimension in front: expanded, without a copy, where it has
    none.
    """
    if in_dim is not None:
        return tensor
    return F.expand(F.unsqueeze(tensor, 0), (size, *tensor.array.shape))


def padded(tensor: Any, in_dim: int | None, ndim: int) -> Any:
    """Return `tensor` with ones inserted after the batch dimension, so that a sample has `ndim`
    dimensions.

    A tensor without batch dimension is returned as it is: it broadcasts from the right by itself.
    """
    if in_dim is None:
        return tensor
    shape = tensor.array.shape
    missing = ndim - (len(shape) - 1)
    return tensor if missing <= 0 else F.view(tensor, (shape[0], *([1] * missing), *shape[1:]))


def front(dim: int, ndim: int) -> int:
    """Return the physical dimension of dimension `dim` of samples of `ndim` dimensions. Raises
    IndexError if the dimension does not exist.
    """
    return int(wrap_dim(dim, ndim)) + 1


def flat(tensor: Tensor) -> Any:
    """Return a batched tensor with each sample made one dimension."""
    shape = tensor.array.shape
    if len(shape) == 2:
        return tensor
    return F.reshape(tensor, (shape[0], math.prod(shape[1:])))


def lower(tensor: Any, in_dim: int | None) -> Any:
    """Return one sample, to run an operator on where only its checks, shape or dtype matter."""
    if in_dim is None:
        return tensor
    if tensor.array.shape[0]:
        return F.select(tensor, 0, 0)
    return F.new_zeros(tensor, tuple(tensor.array.shape[1:]))


def call_one(call: Callable[..., Any], in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """Call an operator on one sample, so that it refuses, in its own words, what a rule would not
    notice.
    """
    samples = [
        lower(value, dim) if dim is not None else value
        for value, dim in zip(args, in_dims, strict=False)
    ]
    return call(*samples, *args[len(samples) :], **kwargs)
