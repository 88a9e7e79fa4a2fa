"""Softmax, its logarithm and their gradients: along rows, and along the middle of three dimensions
for many columns at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .bits import bits
from .collection import Collection


def add_softmax(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real, exp, exp_below, m_log1p = m.real, m.exp, m.exp_below, m.log1p_below_one
    shift, magnitude, integer = m.SIGN_SHIFT, m.MAGNITUDE, m.integer
    least = np.iinfo(integer).min
    zero = real(0)

    @njit(error_model="numpy", forceinline=True)
    def greatest(row):
        # Integers that are ordered as the numbers are: a comparison of numbers is one at a time,
        # because of NaN. Here NaN is beyond the infinities, and what it is taken from is NaN.
        top = integer(least)
        for j in range(row.size):
            pattern = bits(row[j])
            ordered = integer(pattern ^ ((pattern >> shift) & magnitude))
            top = ordered if ordered > top else top
        return bits(integer(top ^ ((top >> shift) & magnitude)))

    @loop(">f2 f2", relaxed=True)
    def softmax(out, x):
        for i in range(x.shape[0]):
            row, to = x[i], out[i]
            top = greatest(row)
            total = zero
            for j in range(row.size):
                power = exp_below(row[j] - top)
                to[j] = power
                total += power
            share = real(1) / total
            for j in range(row.size):
                to[j] *= share

    @loop(">f2 f2", relaxed=True)
    def log_softmax(out, x):
        for i in range(x.shape[0]):
            row, to = x[i], out[i]
            top = greatest(row)
            total = zero
            for j in range(row.size):
                total += exp_below(row[j] - top)
            lost = real(math.log(total))
            for j in range(row.size):
                to[j] = (row[j] - top) - lost

    @loop(">f1 >f1 f1")
    def log_sigmoid(out, buffer, x):
        for i in range(x.size):
            value = x[i]
            power = exp_below(-abs(value))
            buffer[i] = power
            out[i] = (zero if value > zero else value) - m_log1p(power)

    @loop(">f1 f2", relaxed=True)
    def logsumexp(out, x):
        for i in range(x.shape[0]):
            row = x[i]
            top = greatest(row)
            if abs(top) == np.inf:
                top = zero  # what is taken from an infinity would be NaN
            total = zero
            for j in range(row.size):
                total += exp(row[j] - top)
            out[i] = top + real(math.log(total))

    @loop(">f2 f2 f2", relaxed=True)
    def softmax_backward(out, g, y):
        for i in range(g.shape[0]):
            grad, made, to = g[i], y[i], out[i]
            total = zero
            for j in range(grad.size):
                total += grad[j] * made[j]
            for j in range(grad.size):
                to[j] = made[j] * (grad[j] - total)

    @loop(">f2 f2 f2", relaxed=True)
    def log_softmax_backward(out, g, y):
        for i in range(g.shape[0]):
            grad, made, to = g[i], y[i], out[i]
            total = zero
            for j in range(grad.size):
                total += grad[j]
            for j in range(grad.size):
                to[j] = grad[j] - exp(made[j]) * total

    @loop(">f3 f3 b")
    def softmax_of_columns(out, x, is_log):
        count, width = x.shape[1], x.shape[2]
        top, total = np.empty(width, real), np.empty(width, real)
        for i in range(x.shape[0]):
            top[:] = x[i, 0]
            for j in range(1, count):
                row = x[i, j]
                for k in range(width):
                    top[k] = top[k] if top[k] > row[k] else row[k]
            total[:] = zero
            for j in range(count):
                row, to = x[i, j], out[i, j]
                for k in range(width):
                    power = exp(row[k] - top[k])
                    to[k] = power
                    total[k] += power
            if is_log:
                for k in range(width):
                    total[k] = np.log(total[k])
                for j in range(count):
                    row, to = x[i, j], out[i, j]
                    for k in range(width):
                        to[k] = (row[k] - top[k]) - total[k]
            else:
                for k in range(width):
                    total[k] = real(1) / total[k]
                for j in range(count):
                    to = out[i, j]
                    for k in range(width):
                        to[k] *= total[k]

    @loop(">f3 f3 f3 b")
    def softmax_of_columns_backward(out, g, y, is_log):
        count, width = g.shape[1], g.shape[2]
        total = np.empty(width, real)
        for i in range(g.shape[0]):
            total[:] = zero
            for j in range(count):
                grad, made = g[i, j], y[i, j]
                if is_log:
                    for k in range(width):
                        total[k] += grad[k]
                else:
                    for k in range(width):
                        total[k] += grad[k] * made[k]
            for j in range(count):
                grad, made, to = g[i, j], y[i, j], out[i, j]
                if is_log:
                    for k in range(width):
                        to[k] = grad[k] - exp(made[k]) * total[k]
                else:
                    for k in range(width):
                        to[k] = made[k] * (grad[k] - total[k])

    @loop(">f2 f2 i1 f i", relaxed=True)
    def cross_entropy_backward(out, y, target, slope, ignored):
        for i in range(y.shape[0]):
            made, to, place = y[i], out[i], target[i]
            if place == ignored:
                for j in range(made.size):
                    to[j] = zero
            else:
                for j in range(made.size):
                    to[j] = exp(made[j]) * slope
                to[place] -= slope


__all__ = ["add_softmax"]
