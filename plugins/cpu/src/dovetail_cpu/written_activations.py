"""Activations and their gradients as they are written block by block: ``write(out, *rooms, ...)``.

Every step writes over what is there, so none allocates. The steps are those of the array kernels,
and so are the results.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from .blocks import Write
from .elementary import write_expm1, write_log1p, write_one_plus_power
from .quick_functions import clip
from .written_gelu import write_gelu, write_gelu_gradient

__all__ = [
    "OF_HARD_ACTIVATIONS",
    "OF_RECTIFIERS",
    "OF_SIGMOIDS",
    "write_threshold_gradient",
]

_BITS: Final = {numpy.dtype(f"f{size}"): numpy.dtype(f"i{size}") for size in (4, 8)}
_BIT: Final = {each: numpy.array(1, each) for each in _BITS.values()}
_ZEROS, _ONES, _THREES, _SIXES, _MINUS_THREES, _THIRDS, _HALVES, _LEAST = (
    {each: numpy.array(value, each) for each in _BITS}
    for value in (0, 1, 3, 6, -3, 1 / 3, 0.5, -math.inf)
)
_add, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_divide, _exp, _negative = numpy.divide, numpy.exp, numpy.negative


def _sigmoid(out: Any, room: Any, x: Any) -> None:
    """Write ``1 / (1 + exp(-x))``."""
    _negative(x, room)
    write_one_plus_power(room, room)
    _divide(_ONES[out.dtype], room, out)


def _silu(out: Any, room: Any, x: Any) -> None:
    """Write ``x / (1 + exp(-x))``."""
    _negative(x, room)
    write_one_plus_power(room, room)
    _divide(x, room, out)


def _silu_gradient(out: Any, share: Any, slope: Any, grad_output: Any, x: Any) -> None:
    """Write ``grad * s * (1 + x * (1 - s))`` for s = sigmoid(x)."""
    one = _ONES[out.dtype]
    # Where the slope is near 0 digits cancel out: then the steps have to be those of the kernel.
    _negative(x, share)
    _exp(share, share)
    _add(share, one, share)
    _divide(one, share, share)
    _subtract(one, share, slope)
    _multiply(slope, x, slope)
    _add(slope, one, slope)
    _multiply(share, slope, share)
    _multiply(share, grad_output, out)


def _sigmoid_gradient(out: Any, grad_output: Any, output: Any) -> None:
    """Write ``grad * output * (1 - output)``."""
    _subtract(_ONES[out.dtype], output, out)
    _multiply(out, output, out)
    _multiply(out, grad_output, out)


def _tanh_gradient(out: Any, grad_output: Any, output: Any) -> None:
    """Write ``grad * (1 - output ** 2)``."""
    _multiply(output, output, out)
    _subtract(_ONES[out.dtype], out, out)
    _multiply(out, grad_output, out)


def _log_sigmoid_gradient(out: Any, room: Any, grad_output: Any, x: Any, buffer: Any) -> None:
    """Write ``grad / (1 + exp(x))``."""
    write_one_plus_power(room, x)
    _divide(grad_output, room, out)


def _sixth(out: Any, x: Any) -> None:
    """Write ``(x + 3) / 6``, limited to 0 and 1."""
    dtype = out.dtype
    six = _SIXES[dtype]
    _add(x, _THREES[dtype], out)
    clip(out, _ZEROS[dtype], six, out)
    _divide(out, six, out)


def _hardswish(out: Any, x: Any) -> None:
    """Write ``x * min(max(x + 3, 0), 6) / 6``."""
    _sixth(out, x)
    _multiply(out, x, out)


def _hardtanh_gradient(
    out: Any, grad_output: Any, x: Any, min_val: Any, max_val: Any
) -> bool | None:
    """Write the gradient between -1 and 1, else 0, by bits: infinities outside are dropped."""
    if (min_val, max_val) != (-1, 1):
        return False
    numpy.absolute(x, out)
    _keep(numpy.greater_equal(out, _ONES[out.dtype]), grad_output, out)
    return None


def write_threshold_gradient(out: Any, grad_output: Any, x: Any, threshold: Any) -> None:
    """Write the gradient where `x` is above the threshold or NaN, else 0."""
    _keep(numpy.less_equal(x, numpy.array(threshold, out.dtype)), grad_output, out)


def _keep(dropped: Any, a: Any, out: Any) -> None:
    """Write `a` where the mask is false, else 0."""
    bits = _BITS[out.dtype]
    mask = out.view(bits)
    _bits_where_not(mask, dropped)
    numpy.bitwise_and(mask, a.view(bits), mask)


def _bits_where_not(out: Any, mask: Any) -> None:
    """Write integers without bits where the mask is true, with all bits where it is false."""
    numpy.copyto(out, mask.view(numpy.int8))
    _subtract(out, _BIT[out.dtype], out)


def _leaky_relu(out: Any, x: Any, negative_slope: Any = 0.01) -> bool | None:
    """Write the greater of `x` and ``slope * x``."""
    if not 0 < negative_slope <= 1:
        return False
    _multiply(x, numpy.array(negative_slope, out.dtype), out)
    numpy.maximum(x, out, out=out)
    return None


def _leaky_relu_gradient(
    out: Any, factor: Any, grad_output: Any, x: Any, negative_slope: Any, self_is_result: bool
) -> bool | None:
    """Write `grad` times 1 where `x` is positive, else times the slope; what chooses between the
    two are the bits in which they differ.
    """
    if self_is_result and not negative_slope >= 0:
        return False
    dtype = out.dtype
    bits = _BITS[dtype]
    one, other = _ONES[dtype].view(bits), numpy.array(negative_slope, dtype).view(bits)
    chosen = factor.view(bits)
    numpy.greater(x, _ZEROS[dtype], out=chosen)
    _multiply(chosen, one ^ other, chosen)
    numpy.bitwise_xor(chosen, other, chosen)
    _multiply(grad_output, factor, out)
    return None


def _choose(out: Any, room: Any, mask: Any, other: Any) -> None:
    """Write `other` where the mask is true, and leave what is there where it is false: by bits, so
    that infinities and NaN on the other side vanish.
    """
    bits = _BITS[out.dtype]
    mine, theirs, chosen = out.view(bits), other.view(bits), room.view(bits)
    _bits_where_not(chosen, mask)
    numpy.bitwise_xor(mine, theirs, mine)
    numpy.bitwise_and(mine, chosen, mine)
    numpy.bitwise_xor(mine, theirs, mine)


def _hardswish_gradient(out: Any, room: Any, grad_output: Any, x: Any) -> None:
    """Write ``grad * (x / 3 + 1 / 2)`` between -3 and 3, 0 below, and the gradient above and where
    `x` is NaN.
    """
    dtype = out.dtype
    _multiply(x, _THIRDS[dtype], room)
    _add(room, _HALVES[dtype], room)
    _multiply(grad_output, room, out)
    inside = numpy.less(x, _THREES[dtype])
    _choose(out, room, numpy.logical_not(inside), grad_output)
    kept = room.view(_BITS[dtype])
    _bits_where_not(kept, numpy.less_equal(x, _MINUS_THREES[dtype], inside))
    numpy.bitwise_and(out.view(kept.dtype), kept, out.view(kept.dtype))


def _softplus(
    out: Any, power: Any, room: Any, x: Any, beta: Any = 1, threshold: Any = 20
) -> bool | None:
    """Write ``log(1 + exp(x))``, and `x` where that is above the threshold."""
    if beta != 1 or out.dtype != numpy.float32:
        return False
    _exp(x, power)
    write_log1p(out, room, power)
    _keep_linear(out, room, x, x, threshold)
    return None


def _softplus_gradient(
    out: Any, room: Any, grad_output: Any, x: Any, beta: Any, threshold: Any
) -> bool | None:
    """Write ``grad * sigmoid(x)``, and the gradient where `x` is above the threshold."""
    if beta != 1:
        return False
    _negative(x, room)
    write_one_plus_power(room, room)
    _divide(grad_output, room, out)
    _keep_linear(out, room, x, grad_output, threshold)
    return None


def _keep_linear(out: Any, room: Any, x: Any, other: Any, threshold: Any) -> None:
    """Write `other` where `x` is above the threshold, which is nowhere in most blocks."""
    limit = numpy.array(threshold, out.dtype)
    if not x.max() <= limit:
        _choose(out, room, numpy.greater(x, limit), other)


def _elu(out: Any, near: Any, series: Any, bounded: Any, x: Any, *factors: Any) -> bool | None:
    """Write ``max(x, exp(x) - 1)``: exp(x) - 1 is never less than x, and equal to it at 0."""
    dtype = out.dtype
    if dtype != numpy.float32 or any([each != 1 for each in factors]):
        return False
    clip(x, _LEAST[dtype], _ZEROS[dtype], bounded)
    write_expm1(out, near, series, bounded)
    numpy.maximum(out, x, out=out)
    return None


def _elu_gradient(
    out: Any,
    room: Any,
    grad_output: Any,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    self_or_result: Any,
) -> bool | None:
    """Write ``grad * exp(min(x, 0))``, and the gradient where `x` is NaN."""
    if is_result or not alpha == scale == input_scale == 1:
        return False
    x, dtype = self_or_result, out.dtype
    clip(x, _LEAST[dtype], _ZEROS[dtype], room)
    _exp(room, room)
    _multiply(grad_output, room, out)
    if numpy.isnan(x.max()):
        _choose(out, room, numpy.isnan(x), grad_output)
    return None


OF_SIGMOIDS: Final[dict[str, Write]] = {
    "sigmoid": (_sigmoid, 1),
    "sigmoid_backward": (_sigmoid_gradient, 0),
    "tanh_backward": (_tanh_gradient, 0),
    "silu": (_silu, 1),
    "silu_backward": (_silu_gradient, 2),
    "log_sigmoid_backward": (_log_sigmoid_gradient, 1),
    "softplus": (_softplus, 2),
    "softplus_backward": (_softplus_gradient, 1),
    "gelu": (write_gelu, 2),
    "gelu_backward": (write_gelu_gradient, 3),
}
OF_RECTIFIERS: Final[dict[str, Write]] = {
    "elu": (_elu, 3),
    "plain_elu": (_elu, 3),
    "elu_backward": (_elu_gradient, 1),
    "leaky_relu": (_leaky_relu, 0),
    "leaky_relu_backward": (_leaky_relu_gradient, 1),
    "hardtanh_backward": (_hardtanh_gradient, 0),
}
OF_HARD_ACTIVATIONS: Final[dict[str, Write]] = {
    "hardswish": (_hardswish, 0),
    "hardswish_backward": (_hardswish_gradient, 1),
    "hardsigmoid": (_sixth, 0),
}
