"""Derivatives of sums, products, choices, norms and running products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from ..meta.meta_array import MetaArray
from ..typing import Namespace, Scalar, TensorLike
from .shapes import count, unsqueeze_reduced, wrap_dims


def sum_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[int], dims: Sequence[int] | None, keepdim: bool
) -> Any:
    """Return the gradient of the sum over `dims`."""
    return k.expand(unsqueeze_reduced(k, grad, dims, keepdim, len(sizes)), sizes)


def mean_backward(k: Namespace, grad: Any, sizes: Sequence[int], dims: Any, keepdim: bool) -> Any:
    """Return the gradient of the mean over `dims`."""
    return k.div(sum_backward(k, grad, sizes, dims, keepdim), count(sizes, dims))


def scale_grad_by_count(k: Namespace, grad: TensorLike, mask: TensorLike, dims: Any) -> Any:
    """Return `grad` shared evenly by the elements that `mask` chooses along `dims`."""
    return k.div(k.mul(grad, mask), count_along(k, mask, dims, grad))


def count_along(k: Namespace, mask: TensorLike, dims: Sequence[int], like: TensorLike) -> Any:
    """Return how often `mask` is true along `dims`, in the dtype of `like`, which it divides: array
    libraries do not all divide numbers by integers.
    """
    return k.sum(mask, wrap_dims(dims, mask.ndim), True, dtype=like.dtype)


def evenly_distribute_backward(
    k: Namespace, grad: TensorLike, self: Any, result: TensorLike
) -> Any:
    """Return the gradient of max() and min() over all elements, divided evenly among ties."""
    mask = k.logical_and(k.ne(self, self), k.ne(result, result))
    mask = k.logical_or(k.eq(self, result), mask)
    return k.where(mask, k.div(grad, k.sum(mask, dtype=grad.dtype)), 0)


def value_selecting_reduction_backward(
    k: Namespace,
    grad: TensorLike,
    dim: int,
    indices: TensorLike,
    sizes: Sequence[int],
    keepdim: bool,
) -> Any:
    """Return the gradient of a reduction that picks elements by `indices` along `dim`."""
    if not keepdim and sizes:
        grad = k.unsqueeze(grad, dim)
        indices = k.unsqueeze(indices, dim)
    return k.scatter(k.new_zeros(grad, sizes), dim, indices, grad)


def prod_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    result: TensorLike,
    dim: int | None = None,
    keepdim: bool = False,
) -> Any:
    """Return the gradient of the product: every element gets the product of the others, which is
    exact beside a zero too.
    """
    if not input.ndim:
        return grad
    if dim is None:
        flat = k.reshape(input, (-1,))
        return k.mul(grad, k.reshape(k.conj(product_of_others(k, flat, 0)), input.shape))
    if not keepdim:
        grad, result = k.unsqueeze(grad, dim), k.unsqueeze(result, dim)
    if not _has_zero(k, input):
        return k.div(k.mul(grad, k.conj(result)), k.conj(input))
    return k.mul(grad, k.conj(product_of_others(k, input, dim)))


def product_of_others(k: Namespace, x: TensorLike, dim: int) -> Any:
    """Return for every element the product of all others along `dim`, without dividing."""
    size = x.shape[dim]
    if size == 0:
        return x
    one = k.new_ones(x, [1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)])
    before = k.cumprod(k.cat([one, k.slice(x, dim, 0, size - 1)], dim), dim)
    after = k.cumprod(k.cat([one, k.slice(k.flip(x, [dim]), dim, 0, size - 1)], dim), dim)
    return k.mul(before, k.flip(after, [dim]))


def cumsum_backward(k: Namespace, grad: TensorLike, dim: int) -> Any:
    """Return the gradient of cumsum: the sum of `grad` from each place on."""
    if not grad.ndim:
        return grad
    return k.flip(k.cumsum(k.flip(grad, [dim]), dim), [dim])


def cumprod_backward(
    k: Namespace, grad: TensorLike, self: Any, dim: int, result: TensorLike
) -> Any:
    """Return the gradient of cumprod, exact at zeros: sum over j >= i of grad_j times the product
    up to j without element i.
    """
    if not self.ndim or self.shape[dim] <= 1:
        return grad
    dim %= self.ndim
    size = self.shape[dim]
    result, self = k.conj(result), k.conj(self)
    if not _has_zero(k, self):
        return k.div(cumsum_backward(k, k.mul(grad, result), dim), self)
    columns = []
    before = k.new_ones(self, [1 if d == dim else n for d, n in enumerate(self.shape)])
    for index in range(size):
        rest = [before, *([k.slice(self, dim, index + 1, size)] if index + 1 < size else [])]
        others = k.cumprod(k.cat(rest, dim) if len(rest) > 1 else before, dim)
        columns.append(k.sum(k.mul(k.slice(grad, dim, index, size), others), (dim,), True))
        before = k.mul(before, k.slice(self, dim, index, index + 1))
    return k.cat(columns, dim)


def _has_zero(k: Namespace, x: TensorLike) -> bool:
    """Return whether an element is zero; True as well where none can be looked at, inside of a
    transform.
    """
    if isinstance(x, TensorBase) and not x._backend.is_device:
        return True
    if isinstance(x.array if isinstance(x, TensorBase) else x, MetaArray):
        return False  # either way gives the shape
    return bool(k.any(k.eq(x, 0)))


def var_backward(k: Any, grad: Any, self: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
    """Return the gradient of the variance over `dims`."""
    freedom = count(self.shape, dims) - (1 if correction is None else correction)
    factor = 2 / freedom if freedom > 0 else math.inf
    mean = k.mean(self) if dims is None else k.mean(self, wrap_dims(dims, self.ndim), True)
    grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
    return k.mul(k.mul(grad, factor), k.sub(self, mean))


def std_backward(
    k: Namespace, result: Any, grad: Any, self: Any, dims: Any, correction: Any, keepdim: bool
) -> Any:
    """Return the gradient of the standard deviation over `dims`; zero where it is zero."""
    halved = k.masked_fill(k.div(grad, k.mul(result, 2)), k.eq(result, 0), 0)
    return var_backward(k, halved, self, dims, correction, keepdim)


def logsumexp_backward(
    k: Namespace, grad: TensorLike, self: Any, result: TensorLike, dims: object, keepdim: bool
) -> Any:
    """Return the gradient of logsumexp over `dims`."""
    grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
    result = unsqueeze_reduced(k, result, dims, keepdim, self.ndim)
    return k.mul(grad, k.conj(k.exp(k.sub(self, result))))


def norm_backward(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    p: Any,
    norm: TensorLike,
    dims: Sequence[int] = (),
    keepdim: bool = True,
) -> Any:
    """Return the gradient of the `p`-norm over `dims`; zero where the norm is zero, None of the
    number of elements that are not zero.
    """
    p = 2.0 if p is None else float(p)
    if self.ndim and not (dims == () and keepdim and not norm.ndim):
        grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
        norm = unsqueeze_reduced(k, norm, dims, keepdim, self.ndim)
    if p == 0.0:
        return None
    if p == 1.0:
        return k.mul(k.sgn(self), grad)
    if p == 2.0:
        return k.mul(grad, k.masked_fill(k.div(self, norm), k.eq(norm, 0), 0))
    size = k.abs(self)
    if math.isinf(p):
        reached = k.logical_or(k.eq(size, norm), k.logical_and(k.ne(size, size), k.ne(norm, norm)))
        ties = count_along(k, reached, dims, grad) if self.ndim else 1
        return k.mul(k.sgn(self), k.mul(reached, k.div(grad, ties)))
    if p < 1.0:
        powered = k.masked_fill(k.mul(k.sgn(self), k.pow(size, p - 1)), k.eq(self, 0), 0)
        return k.mul(powered, k.mul(grad, k.pow(norm, 1 - p)))
    scaled = k.masked_fill(k.div(grad, k.pow(norm, p - 1)), k.eq(norm, 0), 0)
    if p < 2.0:
        return k.mul(k.mul(k.sgn(self), k.pow(size, p - 1)), scaled)
    return k.mul(k.mul(self, k.pow(size, p - 2)), scaled)


def linalg_vector_norm_backward(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    ord: Scalar,
    norm: TensorLike,
    dims: Sequence[int] | None,
    keepdim: bool,
) -> Any:
    """Return the gradient of the vector norm of order `ord` over `dims`."""
    return norm_backward(k, grad, self, ord, norm, wrap_dims(dims, self.ndim), keepdim)
