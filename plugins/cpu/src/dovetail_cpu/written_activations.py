"""Activations and their gradients as they are written block by block: ``write(out, *rooms, ...)``.

Every step writes over what is there, so none allocates. The steps are those of the array kernels,
and so are the results.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from .blocks import Write
from .written_gelu import write_gelu, write_gelu_gradient

__all__ = ["OF_HARD_ACTIVATIONS", "OF_RECTIFIERS", "OF_SIGMOIDS"]

_BITS: Final = {numpy.dtype(f"f{size}"): numpy.dtype(f"i{size}") for size in (4, 8)}
_ONE_BYTE: Final = numpy.array(1, numpy.int8)
_ZEROS, _ONES, _THREES, _SIXES = (
    {each: numpy.array(value, each) for each in _BITS} for value in (0, 1, 3, 6)
)
_add, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_divide, _exp, _negative = numpy.divide, numpy.exp, numpy.negative


def _sigmoid(out: Any, x: Any) -> None:
    """Write ``1 / (1 + exp(-x))``."""
    one = _ONES[out.dtype]
    _negative(x, out)
    _exp(out, out)
    _add(out, one, out)
    _divide(one, out, out)


def _silu(out: Any, x: Any) -> None:
    """Write ``x / (1 + exp(-x))``."""
    _negative(x, out)
    _exp(out, out)
    _add(out, _ONES[out.dtype], out)
    _divide(x, out, out)


def _silu_gradient(out: Any, slope: Any, grad_output: Any, x: Any) -> None:
    """Write ``grad * s * (1 + x * (1 - s))`` for s = sigmoid(x)."""
    one = _ONES[out.dtype]
    _sigmoid(out, x)
    _subtract(one, out, slope)
    _multiply(slope, x, slope)
    _add(slope, one, slope)
    _multiply(out, slope, out)
    _multiply(out, grad_output, out)


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


def _log_sigmoid_gradient(out: Any, grad_output: Any, x: Any, buffer: Any) -> None:
    """Write ``grad / (1 + exp(x))``."""
    _exp(x, out)
    _add(out, _ONES[out.dtype], out)
    _divide(grad_output, out, out)


def _sixth(out: Any, x: Any) -> None:
    """Write ``(x + 3) / 6``, limited to 0 and 1."""
    dtype = out.dtype
    six = _SIXES[dtype]
    _add(x, _THREES[dtype], out)
    out.clip(_ZEROS[dtype], six, out)
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


def _relu_gradient(out: Any, grad_output: Any, x: Any, threshold: Any) -> bool | None:
    """Write the gradient where `x` is positive or NaN, else 0."""
    if threshold != 0:
        return False
    _keep(numpy.less_equal(x, _ZEROS[out.dtype]), grad_output, out)
    return None


def _keep(dropped: Any, a: Any, out: Any) -> None:
    """Write `a` where the mask is false, else 0."""
    bits = _BITS[out.dtype]
    mask = out.view(bits)
    _subtract(dropped.view(numpy.int8), _ONE_BYTE, mask, dtype=bits)
    numpy.bitwise_and(mask, a.view(bits), mask)


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


OF_SIGMOIDS: Final[dict[str, Write]] = {
    "sigmoid": (_sigmoid, 0),
    "sigmoid_backward": (_sigmoid_gradient, 0),
    "tanh_backward": (_tanh_gradient, 0),
    "silu": (_silu, 0),
    "silu_backward": (_silu_gradient, 1),
    "log_sigmoid_backward": (_log_sigmoid_gradient, 0),
    "gelu": (write_gelu, 1),
    "gelu_backward": (write_gelu_gradient, 2),
}
OF_RECTIFIERS: Final[dict[str, Write]] = {
    "leaky_relu": (_leaky_relu, 0),
    "leaky_relu_backward": (_leaky_relu_gradient, 1),
    "threshold_backward": (_relu_gradient, 0),
    "hardtanh_backward": (_hardtanh_gradient, 0),
}
OF_HARD_ACTIVATIONS: Final[dict[str, Write]] = {
    "hardswish": (_hardswish, 0),
    "hardsigmoid": (_sixth, 0),
}
