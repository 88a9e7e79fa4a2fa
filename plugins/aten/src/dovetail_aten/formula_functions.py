"""Functions that derivative formulas call: written once, over tensors and over a backend's arrays alike.

The first argument of each is `k`, the namespace of operators: the operator functions for tensors (then the result is
itself differentiable), the array kernels for arrays. What tensors and arrays spell alike is used directly: ``x.shape``,
``x.ndim``, ``x.dtype``; everything else goes through `k`, under the operators' base names. A few functions need more
than arrays have; they are listed in `TENSORS_ONLY`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from .broadcasting import broadcast_shapes
from .meta_array import MetaArray

TENSORS_ONLY = frozenset({"as_strided_backward", "copy_to_device", "to_copy_backward"})
"""Functions that work on tensors only: formulas that call them get no body over arrays."""

MEAN = 1
_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


# -- shapes ----------------------------------------------------------------------------------------------------------


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the dimensions named by `dims` as numbers from 0; none named means all."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(ndim))
    return tuple([dim % ndim if ndim else 0 for dim in dims])


def restore_reduced_dims(k: Any, x: Any, dims: Any, keepdim: bool) -> Any:
    """Return `x`, the result of a reduction over `dims`, with the reduced dimensions put back at size 1."""
    ndim = getattr(dims, "__len__", lambda: 1)()
    if keepdim or not ndim:
        return x
    full = x.ndim + ndim
    for dim in sorted(wrap_dims(dims, full)):
        x = k.unsqueeze(x, dim)
    return x


def unsqueeze_reduced(k: Any, x: Any, dims: Any, keepdim: bool, ndim: int) -> Any:
    """Return `x`, the result of a reduction of `ndim` dimensions over `dims`, so that it broadcasts over them."""
    if keepdim or not ndim or not x.ndim:
        return x
    for dim in sorted(wrap_dims(dims, ndim)):
        x = k.unsqueeze(x, dim)
    return x


def count(sizes: Sequence[int], dims: Any = None) -> int:
    """Return the number of elements that a reduction of `sizes` over `dims` combines."""
    return math.prod([sizes[dim] for dim in wrap_dims(dims, len(sizes))]) if sizes else 1


def broadcast_size(*operands: Any) -> int:
    """Return how many elements the result of broadcasting `operands` has; None among them counts for nothing."""
    return math.prod(broadcast_shapes([x.shape for x in operands if x is not None]))


def zero_of(k: Any, x: Any) -> Any:
    """Return a 0-d zero of the dtype and device of `x`."""
    return k.new_zeros(x, ())


# -- products --------------------------------------------------------------------------------------------------------


def mm_mat2_backward(k: Any, grad: Any, mat1: Any, column_major: bool) -> Any:
    """Gradient of ``mat1 @ mat2`` for `mat2`, laid out in memory like it; `mat1` is conjugated."""
    return k.t(k.mm(k.t(grad), mat1)) if column_major else k.mm(k.t(mat1), grad)


# -- pointwise -------------------------------------------------------------------------------------------------------


def pow_backward(k: Any, grad: Any, self: Any, exponent: Any) -> Any:
    """Gradient of ``self ** exponent`` for a number `exponent`."""
    if exponent == 0:
        return k.zeros_like(grad)
    if exponent == 1:
        return grad
    if exponent == 2:
        return k.mul(grad, k.mul(k.conj(self), 2))
    return k.mul(grad, k.conj(k.mul(k.pow(self, exponent - 1), exponent)))


def pow_backward_self(k: Any, grad: Any, self: Any, exponent: Any) -> Any:
    """Gradient of ``self ** exponent`` with respect to `self`, for a tensor `exponent`; zero where it is zero."""
    slope = k.mul(exponent, k.pow(self, k.sub(exponent, 1)))
    return k.where(k.eq(exponent, 0), 0, k.mul(grad, k.conj(slope)))


def pow_backward_exponent(k: Any, grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    """Gradient of ``self ** exponent`` with respect to `exponent`; zero where ``0 ** exponent`` is constant."""
    if isinstance(self, (bool, int, float, complex)):
        if self == 0:
            changing = k.conj(k.mul(result, -math.inf))
            return k.mul(grad, k.where(k.ge(k.real(exponent), 0), 0, changing))
        logarithm = math.log(self) if not isinstance(self, complex) and self > 0 else _complex_log(self, exponent)
        return k.mul(grad, k.conj(k.mul(result, logarithm)))
    constant = k.logical_and(k.eq(self, 0), k.ge(k.real(exponent), 0))
    if "complex" in str(exponent.dtype) and "complex" not in str(self.dtype):
        self = k.add(self, 0j)
    return k.mul(grad, k.conj(k.where(constant, 0, k.mul(result, k.log(self)))))


def _complex_log(number: complex, exponent: Any) -> complex:
    import cmath

    return cmath.log(number) if "complex" in str(exponent.dtype) else math.nan


def sgn_backward(k: Any, grad: Any, self: Any, result: Any) -> Any:
    """Gradient of the sign: zero for real numbers; for complex ones the part of `grad` that turns the sign."""
    if "complex" not in str(self.dtype):
        return k.zeros_like(grad)
    size = k.abs(self)
    turned = k.sub(grad, k.mul(result, k.real(k.mul(k.conj(grad), result))))
    return k.where(k.eq(size, 0), 0, k.div(turned, size))


def angle_backward(k: Any, grad: Any, self: Any) -> Any:
    """Gradient of the angle: zero for real numbers."""
    if "complex" not in str(self.dtype):
        return k.zeros_like(grad)
    size = k.abs(self)
    turn = k.mul(self, 1j)
    return k.where(k.eq(size, 0), 0, k.mul(k.div(turn, k.mul(size, size)), grad))


def acosh_backward(k: Any, grad: Any, self: Any) -> Any:
    """Gradient of acosh. The root of ``self² - 1`` has another branch cut than acosh; its factors have the same."""
    if "complex" not in str(self.dtype):
        return k.mul(grad, k.rsqrt(k.sub(k.mul(self, self), 1)))
    return k.mul(grad, k.conj(k.mul(k.rsqrt(k.sub(self, 1)), k.rsqrt(k.add(self, 1)))))


def clamp_backward(k: Any, grad: Any, self: Any, min: Any, max: Any) -> Any:
    """Gradient of clamp with respect to `self`: one inside and on the bounds."""
    if min is None and max is None:
        return grad
    if max is None:
        return k.where(k.ge(self, min), grad, 0)
    if min is None:
        return k.where(k.le(self, max), grad, 0)
    return k.where(k.logical_and(k.ge(self, min), k.le(self, max)), grad, 0)


def clamp_backward_min_max(
    k: Any, grad: Any, self: Any, min: Any, max: Any, grad_input_mask: Sequence[bool]
) -> tuple[Any, Any]:
    """Gradients of clamp with respect to tensor bounds: one where the bound is the result."""
    grad_min = grad_max = None
    if min is not None and grad_input_mask[0]:
        below = k.lt(self, min)
        grad_min = k.where(below if max is None else k.logical_and(below, k.lt(min, max)), grad, 0)
    if max is not None and grad_input_mask[1]:
        above = k.gt(self, max)
        grad_max = k.where(above if min is None else k.logical_or(above, k.gt(min, max)), grad, 0)
    return grad_min, grad_max


def nan_to_num_backward(k: Any, grad: Any, self: Any) -> Any:
    """Gradient of nan_to_num: zero where a number was put in."""
    finite = k.logical_and(k.eq(self, self), k.ne(k.abs(self), math.inf))
    return k.where(finite, grad, 0)


def xlogy_self_backward(k: Any, grad: Any, self: Any, other: Any) -> Any:
    """Gradient of ``self * log(other)`` with respect to `self`; zero where the product was defined to be zero."""
    defined = k.logical_and(k.eq(self, 0), k.le(other, 0))
    return k.masked_fill(k.xlogy(grad, other), defined, 0)


# -- activations, differentiated twice -------------------------------------------------------------------------------


def gelu_double_backward(k: Any, grad: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    """Gradient of gelu_backward with respect to `self`."""
    square = k.mul(self, self)
    if approximate == "none":
        density = k.mul(k.exp(k.mul(square, -0.5)), _INV_SQRT_TWO_PI)
        curvature = k.mul(density, k.rsub(square, 2))
    else:
        inner = k.mul(k.mul(self, k.add(k.mul(square, _TANH_CUBIC), 1)), _TANH_SCALE)
        slope = k.mul(k.add(k.mul(square, 3 * _TANH_CUBIC), 1), _TANH_SCALE)
        bend = k.mul(self, 6 * _TANH_CUBIC * _TANH_SCALE)
        tanh = k.tanh(inner)
        sech = k.rsub(k.mul(tanh, tanh), 1)
        first = k.mul(sech, slope)
        second = k.mul(sech, k.sub(bend, k.mul(k.mul(tanh, 2), k.mul(slope, slope))))
        curvature = k.add(first, k.mul(k.mul(self, second), 0.5))
    return k.mul(k.mul(grad, grad_output), curvature)


def silu_double_backward(k: Any, grad: Any, self: Any) -> Any:
    """Gradient of silu_backward with respect to `self`, times `grad`."""
    sigmoid = k.sigmoid(self)
    slope = k.mul(sigmoid, k.rsub(sigmoid, 1))
    return k.mul(grad, k.conj(k.mul(slope, k.add(k.mul(self, k.rsub(k.mul(sigmoid, 2), 1)), 2))))


def elu_double_backward(
    k: Any, grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any
) -> Any:
    """Gradient of elu_backward with respect to its last argument."""
    if is_result:
        bend = k.mul(grad_output, input_scale)
    else:
        bend = k.mul(k.mul(k.exp(k.mul(x, input_scale)), input_scale * input_scale * alpha * scale), grad_output)
    return k.where(k.lt(x, 0), k.mul(grad, bend), 0)


def softplus_double_backward(k: Any, grad: Any, self: Any, beta: Any, threshold: Any) -> Any:
    """Gradient of softplus_backward with respect to `self`, times `grad`."""
    scaled = k.mul(self, beta)
    sigmoid = k.sigmoid(scaled)
    slope = k.mul(k.mul(sigmoid, k.rsub(sigmoid, 1)), beta)
    return k.where(k.gt(scaled, threshold), 0, k.mul(grad, slope))


def log_sigmoid_double_backward(k: Any, grad: Any, self: Any) -> Any:
    """Gradient of log_sigmoid_backward with respect to `self`, times `grad`."""
    sigmoid = k.sigmoid(self)
    return k.mul(grad, k.mul(k.sub(sigmoid, 1), sigmoid))


def prelu_kernel_double_backward(
    k: Any, grad_self: Any, grad_weight: Any, grad_output: Any, self: Any, weight: Any
) -> tuple[Any, Any, Any]:
    """Gradients of ``_prelu_kernel_backward``."""
    negative = k.lt(self, 0)
    to_output = to_self = to_weight = None
    if grad_self is not None:
        to_output = k.where(negative, k.mul(grad_self, weight), grad_self)
        to_weight = k.where(negative, k.mul(grad_self, grad_output), 0)
    if grad_weight is not None:
        through = k.where(negative, k.mul(grad_weight, self), 0)
        to_output = through if to_output is None else k.add(to_output, through)
        to_self = k.where(negative, k.mul(grad_weight, grad_output), 0)
    return to_output, to_self, to_weight


# -- reductions ------------------------------------------------------------------------------------------------------


def sum_backward(k: Any, grad: Any, sizes: Sequence[int], dims: Any, keepdim: bool) -> Any:
    """Gradient of the sum over `dims`."""
    return k.expand(unsqueeze_reduced(k, grad, dims, keepdim, len(sizes)), sizes)


def mean_backward(k: Any, grad: Any, sizes: Sequence[int], dims: Any, keepdim: bool) -> Any:
    """Gradient of the mean over `dims`."""
    return k.div(sum_backward(k, grad, sizes, dims, keepdim), count(sizes, dims))


def scale_grad_by_count(k: Any, grad: Any, mask: Any, dims: Any) -> Any:
    """Return `grad` shared evenly by the elements that `mask` chooses along `dims`."""
    return k.div(k.mul(grad, mask), k.sum(mask, wrap_dims(dims, mask.ndim), True))


def evenly_distribute_backward(k: Any, grad: Any, self: Any, result: Any) -> Any:
    """Gradient of max() and min() over everything: ties share it."""
    mask = k.logical_and(k.ne(self, self), k.ne(result, result))
    mask = k.logical_or(k.eq(self, result), mask)
    return k.where(mask, k.div(grad, k.sum(mask)), 0)


def value_selecting_reduction_backward(
    k: Any, grad: Any, dim: int, indices: Any, sizes: Sequence[int], keepdim: bool
) -> Any:
    """Gradient of a reduction that picks elements by `indices` along `dim`."""
    if not keepdim and sizes:
        grad = k.unsqueeze(grad, dim)
        indices = k.unsqueeze(indices, dim)
    return k.scatter(k.new_zeros(grad, sizes), dim, indices, grad)


def prod_backward(k: Any, grad: Any, input: Any, result: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Gradient of the product: every element gets the product of the others, which is exact beside a zero too."""
    if not input.ndim:
        return grad
    if dim is None:
        flat = k.reshape(input, (-1,))
        return k.mul(grad, k.reshape(k.conj(product_of_others(k, flat, 0)), input.shape))
    if not keepdim:
        grad = k.unsqueeze(grad, dim)
    return k.mul(grad, k.conj(product_of_others(k, input, dim)))


def product_of_others(k: Any, x: Any, dim: int) -> Any:
    """Return for every element the product of all others along `dim`, without dividing."""
    size = x.shape[dim]
    if size == 0:
        return x
    one = k.new_ones(x, [1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)])
    before = k.cumprod(k.cat([one, k.slice(x, dim, 0, size - 1)], dim), dim)
    after = k.cumprod(k.cat([one, k.slice(k.flip(x, [dim]), dim, 0, size - 1)], dim), dim)
    return k.mul(before, k.flip(after, [dim]))


def cumsum_backward(k: Any, grad: Any, dim: int) -> Any:
    """Gradient of cumsum: the sum of the gradients from each place on."""
    if not grad.ndim:
        return grad
    return k.flip(k.cumsum(k.flip(grad, [dim]), dim), [dim])


def cumprod_backward(k: Any, grad: Any, self: Any, dim: int, result: Any) -> Any:
    """Gradient of cumprod, exact at zeros: sum over j >= i of grad_j times the product up to j without element i."""
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


def _has_zero(k: Any, x: Any) -> bool:
    """Return whether an element is zero; True as well where none can be looked at, inside of a transform."""
    if isinstance(x, TensorBase) and not x._backend.is_device:
        return True
    if isinstance(x.array if isinstance(x, TensorBase) else x, MetaArray):
        return False  # either way gives the shape
    return bool(k.any(k.eq(x, 0)))


def var_backward(k: Any, grad: Any, self: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
    """Gradient of the variance over `dims`."""
    dims = wrap_dims(dims, self.ndim)
    grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
    freedom = count(self.shape, dims) - (1 if correction is None else correction)
    factor = 2 / freedom if freedom > 0 else math.inf
    return k.mul(grad, k.mul(k.sub(self, k.mean(self, dims, True)), factor))


def std_backward(k: Any, result: Any, grad: Any, self: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
    """Gradient of the standard deviation over `dims`; zero where it is zero."""
    halved = k.masked_fill(k.div(grad, k.mul(result, 2)), k.eq(result, 0), 0)
    return var_backward(k, halved, self, dims, correction, keepdim)


def logsumexp_backward(k: Any, grad: Any, self: Any, result: Any, dims: Any, keepdim: bool) -> Any:
    """Gradient of logsumexp over `dims`."""
    grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
    result = unsqueeze_reduced(k, result, dims, keepdim, self.ndim)
    return k.mul(grad, k.conj(k.exp(k.sub(self, result))))


def norm_backward(k: Any, grad: Any, self: Any, p: Any, norm: Any, dims: Any = (), keepdim: bool = True) -> Any:
    """Gradient of the `p`-norm over `dims`; zero where the norm is zero."""
    p = 2.0 if p is None else float(p)
    if self.ndim and not (dims == () and keepdim and not norm.ndim):
        grad = unsqueeze_reduced(k, grad, dims, keepdim, self.ndim)
        norm = unsqueeze_reduced(k, norm, dims, keepdim, self.ndim)
    if p == 0.0:
        return k.zeros_like(self)
    if p == 1.0:
        return k.mul(k.sgn(self), grad)
    if p == 2.0:
        return k.mul(grad, k.masked_fill(k.div(self, norm), k.eq(norm, 0), 0))
    size = k.abs(self)
    if math.isinf(p):
        reached = k.logical_or(k.eq(size, norm), k.logical_and(k.ne(size, size), k.ne(norm, norm)))
        ties = k.sum(reached, wrap_dims(dims, self.ndim), True) if self.ndim else 1
        return k.mul(k.sgn(self), k.mul(reached, k.div(grad, ties)))
    if p < 1.0:
        powered = k.masked_fill(k.mul(k.sgn(self), k.pow(size, p - 1)), k.eq(self, 0), 0)
        return k.mul(powered, k.mul(grad, k.pow(norm, 1 - p)))
    scaled = k.masked_fill(k.div(grad, k.pow(norm, p - 1)), k.eq(norm, 0), 0)
    if p < 2.0:
        return k.mul(k.mul(k.sgn(self), k.pow(size, p - 1)), scaled)
    return k.mul(k.mul(self, k.pow(size, p - 2)), scaled)


def linalg_vector_norm_backward(k: Any, grad: Any, self: Any, ord: Any, norm: Any, dims: Any, keepdim: bool) -> Any:
    """Gradient of the vector norm of order `ord` over `dims`."""
    return norm_backward(k, grad, self, ord, norm, wrap_dims(dims, self.ndim), keepdim)


# -- views and copies ------------------------------------------------------------------------------------------------


def permute_backwards(k: Any, grad: Any, dims: Sequence[int]) -> Any:
    """Gradient of permute: the way back."""
    back = [0] * len(dims)
    for position, dim in enumerate(dims):
        back[dim % len(dims)] = position
    return k.permute(grad, back)


def slice_backward_wrapper(
    k: Any, grad: Any, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Any:
    """Gradient of a slice: zeros with `grad` put in."""
    start, end, step = slice(start, end, step).indices(sizes[dim])
    return k.slice_backward(grad, sizes, dim, start, max(start, end), step)


def split_backward(k: Any, grads: Sequence[Any], split_size: int, dim: int, sizes: Sequence[int]) -> Any:
    """Gradient of split: the gradients of the pieces side by side."""
    total = sizes[dim]
    lengths = [min(split_size, total - start) for start in range(0, total, split_size)] if split_size else [total]
    return split_with_sizes_backward(k, grads, lengths or [0], dim, sizes)


def split_with_sizes_backward(
    k: Any, grads: Sequence[Any], lengths: Sequence[int], dim: int, sizes: Sequence[int]
) -> Any:
    """Gradient of split_with_sizes; pieces without gradient count as zero."""
    known = next(grad for grad in grads if grad is not None)
    dim %= len(sizes)

    def piece(grad: Any, length: int) -> Any:
        if grad is not None:
            return grad
        return k.new_zeros(known, [length if d == dim else size for d, size in enumerate(sizes)])

    return k.cat([piece(grad, length) for grad, length in zip(grads, lengths, strict=True)], dim)


def unbind_backward(k: Any, grads: Sequence[Any], dim: int, sizes: Sequence[int]) -> Any:
    """Gradient of unbind; results without gradient count as zero."""
    known = next(grad for grad in grads if grad is not None)
    return k.stack([k.zeros_like(known) if grad is None else grad for grad in grads], dim)


def cat_tensors_backward(k: Any, grad: Any, sizes: Sequence[Sequence[int]], dim: int) -> list[Any]:
    """Gradients of cat: the pieces of `grad`. An empty 1-d tensor took no part."""
    dim = dim % grad.ndim
    pieces, start = [], 0
    for shape in sizes:
        if len(shape) == 1 and shape[0] == 0 and grad.ndim != 1:
            pieces.append(k.new_zeros(grad, shape))
            continue
        pieces.append(k.slice(grad, dim, start, start + shape[dim], 1))
        start += shape[dim]
    return pieces


def repeat_backward(k: Any, grad: Any, repeats: Sequence[int], sizes: Sequence[int]) -> Any:
    """Gradient of repeat: the sum over the repetitions."""
    if 0 in repeats:
        return k.new_zeros(grad, sizes)
    padded = [1] * (len(repeats) - len(sizes)) + list(sizes)
    split = [n for repeat, size in zip(repeats, padded, strict=True) for n in (repeat, size)]
    if not split:
        return grad
    return k.reshape(k.sum(k.reshape(grad, split), tuple(range(0, len(split), 2))), sizes)


def roll_backward(k: Any, grad: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    """Gradient of roll: rolling back."""
    return k.roll(grad, [-shift for shift in shifts], dims)


def constant_pad_nd_backward(k: Any, grad: Any, pad: Sequence[int]) -> Any:
    """Gradient of constant padding: the middle."""
    return k.constant_pad_nd(grad, [-amount for amount in pad], 0)


def as_strided_backward(
    k: Any,
    grad: Any,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Any:
    """Gradient of as_strided: what every place of the input's memory got, shared by the elements that lie there."""
    begin = 0 if storage_offset is None else storage_offset - offset
    low = min(0, begin)
    length = max(_extent(sizes, strides), begin + _extent(size, stride)) - low
    if length <= 0 or 0 in sizes:
        return k.new_zeros(grad, sizes)
    places = k.arange(length, device=grad.device)
    taken = k.reshape(k.as_strided(places, size, stride, begin - low), (-1,))
    flat = k.index_add(k.new_zeros(grad, (length,)), 0, taken, k.reshape(grad, (-1,)))
    own = k.reshape(k.as_strided(places, sizes, strides, -low), (-1,))
    shared = k.index_add(k.new_zeros(grad, (length,)), 0, own, k.new_ones(grad, own.shape))
    return k.reshape(k.div(k.index_select(flat, 0, own), k.index_select(shared, 0, own)), sizes)


def _extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def to_copy_backward(k: Any, grad: Any, dtype: Any, device: Any) -> Any:
    """Gradient of a conversion: converting back."""
    return k.to(grad, device, dtype)


def copy_to_device(k: Any, grad: Any, device: Any) -> Any:
    """Return `grad` on `device`."""
    return grad if grad.device == device else k.to(grad, device, grad.dtype)


# -- indexing --------------------------------------------------------------------------------------------------------


def index_backward(k: Any, grad: Any, sizes: Sequence[int], indices: Sequence[Any]) -> Any:
    """Gradient of indexing with tensors: what is picked repeatedly adds up."""
    return k.index_put(k.new_zeros(grad, sizes), indices, grad, True)


def index_select_backward(k: Any, grad: Any, sizes: Sequence[int], dim: int, index: Any) -> Any:
    """Gradient of index_select."""
    if not sizes:
        return k.reshape(k.sum(grad), ())
    return k.index_add(k.new_zeros(grad, sizes), dim, index, grad)


def gather_backward(k: Any, grad: Any, sizes: Sequence[int], dim: int, index: Any) -> Any:
    """Gradient of gather."""
    return k.scatter_add(k.new_zeros(grad, sizes), dim, index, grad)


def take_backward(k: Any, grad: Any, sizes: Sequence[int], index: Any) -> Any:
    """Gradient of take, which indexes the flattened input."""
    flat = k.new_zeros(grad, (math.prod(sizes),))
    return k.reshape(k.index_put(flat, [k.reshape(index, (-1,))], k.reshape(grad, (-1,)), True), sizes)


def masked_select_backward(k: Any, grad: Any, sizes: Sequence[int], mask: Any) -> Any:
    """Gradient of masked_select."""
    ndim = max(len(sizes), mask.ndim)
    full = [1] * (ndim - len(sizes)) + list(sizes)
    other = [1] * (ndim - mask.ndim) + list(mask.shape)
    shape = [b if a == 1 else a for a, b in zip(full, other, strict=True)]
    return k.index_put(k.new_zeros(grad, shape), [k.expand(mask, shape)], grad)


def embedding_dense_double_backward(k: Any, grad: Any, indices: Any, padding_idx: int) -> Any:
    """Gradient of embedding_dense_backward with respect to the gradient it was given."""
    picked = k.index_select(grad, 0, k.reshape(indices, (-1,)))
    if padding_idx >= 0:
        padding = k.unsqueeze(k.eq(k.reshape(indices, (-1,)), padding_idx), -1)
        picked = k.masked_fill(picked, padding, 0)
    return k.reshape(picked, (*indices.shape, *grad.shape[1:]))


# -- softmax and losses ----------------------------------------------------------------------------------------------


def softmax_double_backward(k: Any, grad: Any, grad_output: Any, dim: int, output: Any) -> Any:
    """Gradient of ``_softmax_backward_data`` with respect to `output`."""
    dims = (dim,)
    inner = k.sub(grad_output, k.sum(k.mul(grad_output, output), dims, True))
    outer = k.mul(grad_output, k.sum(k.mul(output, grad), dims, True))
    return k.sub(k.mul(inner, grad), outer)


def nll_loss_double_backward(k: Any, grad: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Gradient of nll_loss_backward with respect to the gradient it was given."""
    return k.nll_loss_forward(grad, target, weight, reduction, ignore_index)[0]


def mse_loss_double_backward(k: Any, grad: Any, self: Any, target: Any, reduction: int) -> Any:
    """Gradient of mse_loss_backward with respect to the input, times `grad`."""
    return k.mul(grad, 2 / max(broadcast_size(self, target), 1) if reduction == MEAN else 2)


def smooth_l1_loss_double_backward(k: Any, grad: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    """Gradient of smooth_l1_loss_backward with respect to the input, times `grad`."""
    if beta == 0:
        return k.zeros_like(grad)
    difference = k.sub(self, target)
    curved = k.where(k.lt(k.abs(difference), beta), k.div(grad, beta), 0)
    return k.div(curved, max(broadcast_size(self, target), 1)) if reduction == MEAN else curved


def smooth_l1_loss_double_backward_grad_output(
    k: Any, grad: Any, self: Any, target: Any, reduction: int, beta: float
) -> Any:
    """Gradient of smooth_l1_loss_backward with respect to the gradient it was given."""
    difference = k.sub(self, target)
    slope = k.sgn(difference)
    if beta > 0:
        slope = k.where(k.lt(k.abs(difference), beta), k.div(difference, beta), slope)
    return k.mul(grad, k.div(slope, max(broadcast_size(self, target), 1)) if reduction == MEAN else slope)


def binary_cross_entropy_with_logits_backward(
    k: Any, grad: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    """Gradient of the loss with respect to the logits."""
    sigmoid = k.sigmoid(input)
    if pos_weight is None:
        slope = k.sub(sigmoid, target)
    else:
        positive = k.mul(target, pos_weight)
        slope = k.sub(k.mul(k.sub(k.add(positive, 1), target), sigmoid), positive)
    return _weighted(k, k.mul(grad, slope), weight, [input, target, pos_weight], reduction)


def binary_cross_entropy_with_logits_target_backward(
    k: Any, grad: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    """Gradient of the loss with respect to the target."""
    if pos_weight is None:
        slope = k.neg(input)
    else:
        negative = k.log_sigmoid_forward(k.neg(input))[0]
        slope = k.sub(negative, k.mul(k.log_sigmoid_forward(input)[0], pos_weight))
    return _weighted(k, k.mul(grad, slope), weight, [input, target, pos_weight], reduction)


def _weighted(k: Any, grad: Any, weight: Any, operands: Sequence[Any], reduction: int) -> Any:
    if weight is not None:
        grad = k.mul(grad, weight)
    if reduction != MEAN:
        return grad
    return k.div(grad, max(broadcast_size(*operands, weight), 1))


def layer_norm_double_backward(
    k: Any,
    grad_input: Any,
    grad_weight: Any,
    grad_bias: Any,
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    rstd: Any,
    weight: Any,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Gradients of native_layer_norm_backward with respect to `grad_out`, `input` and `weight`.

    With x̂ the normalized input and P(v) = v - mean(v) - x̂ mean(v x̂) over the normalized dimensions,
    native_layer_norm_backward gives ``rstd P(grad_out weight)``, ``sum(grad_out x̂)`` and ``sum(grad_out)``.
    """
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    batch = tuple(range(input.ndim - len(normalized_shape)))
    normalized = k.mul(k.sub(input, mean), rstd)

    def average(x: Any) -> Any:
        return k.mean(x, dims, True)

    def project(x: Any) -> Any:
        return k.sub(k.sub(x, average(x)), k.mul(normalized, average(k.mul(x, normalized))))

    def plus(x: Any, y: Any) -> Any:
        return y if x is None else k.add(x, y)

    to_out = to_input = to_weight = None
    scaled = grad_out if weight is None else k.mul(grad_out, weight)
    if grad_input is not None:
        projected = k.mul(project(grad_input), rstd)
        to_out = projected if weight is None else k.mul(projected, weight)
        along = average(k.mul(grad_input, normalized))
        scaled_along = average(k.mul(scaled, normalized))
        overlap = average(k.mul(grad_input, project(scaled)))
        bent = k.add(k.mul(project(grad_input), scaled_along), k.mul(project(scaled), along))
        to_input = k.neg(k.mul(k.add(k.mul(normalized, overlap), bent), k.mul(rstd, rstd)))
        if weight is not None and grad_input_mask[2]:
            to_weight = k.mul(grad_out, projected)
            to_weight = k.reshape(k.sum(to_weight, batch) if batch else to_weight, normalized_shape)
    if grad_weight is not None:
        to_out = plus(to_out, k.mul(normalized, grad_weight))
        to_input = plus(to_input, k.mul(project(k.mul(grad_out, grad_weight)), rstd))
    if grad_bias is not None:
        to_out = plus(to_out, k.expand(grad_bias, grad_out.shape))
    return to_out, to_input, to_weight


def atan2_slope(k: Any, numerator: Any, self: Any, other: Any) -> Any:
    """Return ``numerator / (self² + other²)``; 0 at the origin, where atan2 has no derivative."""
    square = k.add(k.mul(self, self), k.mul(other, other))
    return k.mul(numerator, k.masked_fill(k.reciprocal(square), k.eq(square, 0), 0.0))
