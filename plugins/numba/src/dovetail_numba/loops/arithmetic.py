"""Sums of products, losses and transcendental functions, of single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


def arithmetic(m: Any) -> dict[str, tuple[Function, int, int]]:
    """Return the functions over the numbers of a module: see `activations`."""
    real, exp = m.real, m.exp
    one, half = real(1), real(0.5)

    def add_scaled(a, b, alpha):
        return a + b * alpha

    def addcmul(a, b, c, value):
        return a + (b * c) * value

    def addcdiv(a, b, c, value):
        return a + (b / c) * value

    def lerp_near(a, b, weight):
        return a + (b - a) * weight

    def lerp_far(a, b, weight):
        return b - (b - a) * (one - weight)

    def square_of_difference(a, b):
        d = a - b
        return d * d

    def scaled_difference(a, b, g):
        return (a - b) * g

    def huber(a, b, delta, divisor):
        size = abs(a - b)
        lesser = delta if size > delta else size
        return lesser * (size - lesser * half) / divisor

    def huber_backward(a, b, delta, divisor, g):
        d = a - b
        d = -delta if d < -delta else d
        d = delta if d > delta else d
        return (d / divisor) * g

    return {
        "add_scaled": (add_scaled, 2, 1),
        "addcmul": (addcmul, 3, 1),
        "addcdiv": (addcdiv, 3, 1),
        "lerp_near": (lerp_near, 2, 1),
        "lerp_far": (lerp_far, 2, 1),
        "square_of_difference": (square_of_difference, 2, 0),
        "scaled_difference": (scaled_difference, 2, 1),
        "huber": (huber, 2, 2),
        "huber_backward": (huber_backward, 2, 3),
        "exp": (exp, 1, 0),
        "expm1": (m.expm1, 1, 0),
        "erf": (m.erf, 1, 0),
    }


def transcendental(m: Any) -> dict[str, tuple[Function, int, int]]:
    """Return the functions that there are in single precision alone."""
    real, log = m.real, m.log

    def logit(x):
        return log(x / (real(1) - x))

    def rsqrt(x):
        return real(1) / np.sqrt(x)

    return {
        "log1p": (m.log1p, 1, 0),
        "atan": (m.atan, 1, 0),
        "erfc": (m.erfc, 1, 0),
        "logit": (logit, 1, 0),
        "rsqrt": (rsqrt, 1, 0),
    }


__all__ = ["arithmetic", "transcendental"]
