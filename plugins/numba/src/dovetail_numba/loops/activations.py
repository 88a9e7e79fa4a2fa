"""Activation functions and their gradients, of single elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import njit

Function = Callable[..., Any]


def activations(m: Any) -> dict[str, tuple[Function, int, int]]:
    """Return the functions over the numbers of a module, `single` or `double`; with each how many
    arrays and how many numbers it takes.
    """
    real, exp, log1p, normal_share = m.real, m.exp, m.log1p_below_one, m.normal_share
    zero, one, half, two = real(0), real(1), real(0.5), real(2)
    density = real(1 / math.sqrt(2 * math.pi))
    linear = real(-2 * math.sqrt(2 / math.pi))
    cubic = real(-2 * math.sqrt(2 / math.pi) * 0.044715)
    three, six = real(3), real(6)
    expm1 = m.expm1

    def sigmoid(x):
        power = exp(x if x < 0 else -x)  # has all digits where the other one would overflow
        return (power if x < 0 else one) / (one + power)

    def sigmoid_backward(g, y):
        return g * ((one - y) * y)

    def tanh_backward(g, y):
        return g * (one - y * y)

    def silu(x):
        return x / (one + exp(-x))

    def silu_backward(g, x):
        power = exp(x if x < 0 else -x)
        s = (power if x < 0 else one) / (one + power)
        return g * (s * (one + x * (one - s)))

    def gelu(x):
        return x * normal_share(x)

    def gelu_backward(g, x):
        return g * (normal_share(x) + exp(x * x * -half) * (x * density))

    def gelu_tanh(x):
        return x / (one + exp(x * (linear + cubic * (x * x))))

    def gelu_tanh_backward(g, x):
        square = x * x
        s = one / (one + exp(x * (linear + cubic * square)))
        # Zero first: it stays so, however large the slope of the argument is.
        return g * (s - s * (one - s) * x * (linear + three * cubic * square))

    def softplus(x, beta, threshold):
        z = x * beta
        # max(z, 0) + log(1 + exp(-|z|)) loses nothing where exp(z) would be infinite.
        away = exp(-abs(z))
        soft = ((z if z > zero else zero) + log1p(away)) / beta
        return x if z > threshold else soft

    def softplus_backward(g, x, beta, threshold):
        z = x * beta
        return g if z > threshold else g / (one + exp(-z))

    def log_sigmoid_backward(g, x):
        return g / (one + exp(x))

    def mish(x):
        # tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2); from 20 on it is 1.
        e = exp(real(20) if x > real(20) else x)
        n = e * (e + two)
        return x * (n / (n + two))

    def mish_backward(g, x):
        e = exp(real(20) if x > real(20) else x)
        n = e * (e + two)
        t = n / (n + two)
        return g * (t + x * ((one - t * t) * (e / (e + one))))

    def leaky_relu(x, slope):
        return x if x > zero else x * slope

    def leaky_relu_backward(g, x, slope):
        return g if x > zero else g * slope

    def threshold_backward(g, x, threshold):
        return zero if x <= threshold else g

    def hardtanh_backward(g, x, low, high):
        return zero if (x <= low or x >= high) else g

    def _sixth(x):
        y = x + three
        y = zero if y < zero else y
        return (six if y > six else y) * real(1 / 6)

    sixth = njit(_sixth, error_model="numpy", forceinline=True)

    def hardsigmoid(x):
        return sixth(x)

    def hardsigmoid_backward(g, x):
        return g * real(1 / 6) if abs(x) < three else zero

    def hardswish(x):
        return x * sixth(x)

    def hardswish_backward(g, x):
        bent = g * (x * real(1 / 3) + half) if x < three else g
        return zero if x <= -three else bent

    def clamp(x, low, high):
        y = low if x < low else x
        return high if y > high else y

    def relu(x):
        return zero if x < zero else x  # of a zero with its sign

    def elu(x, factor, input_scale, scale):
        return expm1(x * input_scale) * factor if x < zero else x * scale

    def elu_backward(g, x, factor, input_scale, scale):
        bounded = (x if x < zero else zero) * input_scale
        return g * (exp(bounded) * (factor * input_scale)) if x <= zero else g * scale

    def elu_backward_of_result(g, y, factor, input_scale, scale):
        return g * ((y + factor) * input_scale) if y <= zero else g * scale

    return {
        "sigmoid": (sigmoid, 1, 0),
        "sigmoid_backward": (sigmoid_backward, 2, 0),
        "tanh_backward": (tanh_backward, 2, 0),
        "silu": (silu, 1, 0),
        "silu_backward": (silu_backward, 2, 0),
        "gelu": (gelu, 1, 0),
        "gelu_backward": (gelu_backward, 2, 0),
        "gelu_tanh": (gelu_tanh, 1, 0),
        "gelu_tanh_backward": (gelu_tanh_backward, 2, 0),
        "softplus": (softplus, 1, 2),
        "softplus_backward": (softplus_backward, 2, 2),
        "log_sigmoid_backward": (log_sigmoid_backward, 2, 0),
        "mish": (mish, 1, 0),
        "mish_backward": (mish_backward, 2, 0),
        "leaky_relu": (leaky_relu, 1, 1),
        "leaky_relu_backward": (leaky_relu_backward, 2, 1),
        "threshold_backward": (threshold_backward, 2, 1),
        "hardtanh_backward": (hardtanh_backward, 2, 2),
        "hardsigmoid": (hardsigmoid, 1, 0),
        "hardswish": (hardswish, 1, 0),
        "hardswish_backward": (hardswish_backward, 2, 0),
        "hardsigmoid_backward": (hardsigmoid_backward, 2, 0),
        "clamp": (clamp, 1, 2),
        "relu": (relu, 1, 0),
        "elu": (elu, 1, 3),
        "elu_backward": (elu_backward, 2, 3),
        "elu_backward_of_result": (elu_backward_of_result, 2, 3),
    }


__all__ = ["activations"]
