"""Normalization of rows, of channels and of groups, and the gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .collection import Collection

_BLOCK = 1024
"""Elements that are summed in their own precision, before the sums are in double precision.

A block is a slice that is counted from 0: an index that could be negative for all that the compiler
knows costs the vector instructions.
"""


def add_normalization(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real
    zero, one = real(0), real(1)

    @njit(error_model="numpy", fastmath={"contract", "reassoc"}, forceinline=True)
    def sum_of(line):
        total = 0.0
        for start in range(0, line.size, _BLOCK):
            block = line[start : start + _BLOCK]
            part = zero
            for j in range(block.size):
                part += block[j]
            total += part
        return total

    @njit(error_model="numpy", fastmath={"contract", "reassoc"}, forceinline=True)
    def squares_of(line, center):
        total = 0.0
        for start in range(0, line.size, _BLOCK):
            block = line[start : start + _BLOCK]
            part = zero
            for j in range(block.size):
                away = block[j] - center
                part += away * away
            total += part
        return total

    @njit(error_model="numpy", fastmath={"contract", "reassoc"})
    def products_of(line, grad, center):
        total = 0.0
        for start in range(0, line.size, _BLOCK):
            block, other = line[start : start + _BLOCK], grad[start : start + _BLOCK]
            part = zero
            for j in range(block.size):
                part += (block[j] - center) * other[j]
            total += part
        return total

    @loop(">f2 >f1 >f1 f2 f1 f1 f", relaxed=True)
    def layer_norm(out, mean, rstd, x, scale, shift, eps):
        length = x.shape[1]
        for i in range(x.shape[0]):
            row, to = x[i], out[i]
            center = real(sum_of(row) / length)
            inverse = one / real(math.sqrt(real(squares_of(row, center) / length) + eps))
            mean[i] = center
            rstd[i] = inverse
            for j in range(length):
                to[j] = (row[j] - center) * inverse * scale[j] + shift[j]

    @loop(">f2 >d1 >d1 f2 f2 f1 f1 f1", relaxed=True)
    def layer_norm_backward(out, to_scale, to_shift, g, x, mean, rstd, scale):
        length = x.shape[1]
        share = one / real(length)
        # Sums of columns have few terms in their own precision; theirs are in double.
        bent, straight = np.zeros(length, real), np.zeros(length, real)
        for i in range(x.shape[0]):
            row, grad, to = x[i], g[i], out[i]
            center, inverse = mean[i], rstd[i]
            total, along = zero, zero
            for j in range(length):
                even = (row[j] - center) * inverse
                scaled = grad[j] * scale[j]
                total += scaled
                along += scaled * even
                bent[j] += grad[j] * even
                straight[j] += grad[j]
            total *= share
            along *= share * inverse
            for j in range(length):
                to[j] = (grad[j] * scale[j] - total - (row[j] - center) * along) * inverse
            if i % 64 == 63 or i == x.shape[0] - 1:
                for j in range(length):
                    to_scale[j] += bent[j]
                    to_shift[j] += straight[j]
                    bent[j] = zero
                    straight[j] = zero

    @loop(">f1 >f1 f3 i i")
    def statistics_of_channels(mean, variance, x, start, stop):
        count = x.shape[0] * x.shape[2]
        for c in range(start, stop):
            total = 0.0
            for n in range(x.shape[0]):
                total += sum_of(x[n, c])
            center = real(total / count)
            total = 0.0
            for n in range(x.shape[0]):
                total += squares_of(x[n, c], center)
            mean[c] = center
            variance[c] = real(total / count)

    @loop(">f3 f3 f1 f1 f1 i i")
    def scale_channels(out, x, mean, scale, shift, start, stop):
        for n in range(x.shape[0]):
            for c in range(start, stop):
                center, factor, offset = mean[c], scale[c], shift[c]
                row, to = x[n, c], out[n, c]
                for j in range(row.size):
                    to[j] = (row[j] - center) * factor + offset

    @loop(">f1 >f1 f3 f3 f1 i i")
    def sums_of_channels(total, along, g, x, mean, start, stop):
        for c in range(start, stop):
            straight, bent = 0.0, 0.0
            for n in range(x.shape[0]):
                straight += sum_of(g[n, c])
                bent += products_of(x[n, c], g[n, c], mean[c])
            total[c] = real(straight)
            along[c] = real(bent)

    @loop(">f3 f3 f3 f1 f1 f1 f1 i i")
    def channels_backward(out, g, x, mean, factor, straight, bent, start, stop):
        for n in range(x.shape[0]):
            for c in range(start, stop):
                center, scale, offset, slope = mean[c], factor[c], straight[c], bent[c]
                row, grad, to = x[n, c], g[n, c], out[n, c]
                for j in range(row.size):
                    to[j] = (grad[j] - offset - (row[j] - center) * slope) * scale

    @loop(">f3 >f2 >f2 f3 f1 f1 i f i i")
    def group_norm(out, mean, rstd, x, weight, bias, groups, eps, start, stop):
        size = x.shape[1] // groups
        length = size * x.shape[2]
        for n in range(start, stop):
            for group in range(groups):
                rows, to = x[n], out[n]
                first = group * size
                total = 0.0
                for c in range(first, first + size):
                    total += sum_of(rows[c])
                center = real(total / length)
                total = 0.0
                for c in range(first, first + size):
                    total += squares_of(rows[c], center)
                inverse = one / real(math.sqrt(real(total / length) + eps))
                mean[n, group] = center
                rstd[n, group] = inverse
                for c in range(first, first + size):
                    factor, offset = inverse * weight[c], bias[c]
                    row, made = rows[c], to[c]
                    for j in range(row.size):
                        made[j] = (row[j] - center) * factor + offset

    @loop(">f3 >f2 >f2 f3 f3 f2 f2 f1 i i i")
    def group_norm_backward(out, along, total, g, x, mean, rstd, weight, groups, start, stop):
        size = x.shape[1] // groups
        length = size * x.shape[2]
        for n in range(start, stop):
            for group in range(groups):
                center, inverse = mean[n, group], rstd[n, group]
                first = group * size
                straight, bent = 0.0, 0.0
                for c in range(first, first + size):
                    plain = sum_of(g[n, c])
                    product = products_of(x[n, c], g[n, c], center) * inverse
                    total[n, c] = real(plain)
                    along[n, c] = real(product)
                    straight += plain * weight[c]
                    bent += product * weight[c]
                offset = real(straight / length)
                slope = real(bent / length) * inverse
                for c in range(first, first + size):
                    factor = weight[c]
                    row, grad, to = x[n, c], g[n, c], out[n, c]
                    for j in range(row.size):
                        to[j] = (grad[j] * factor - offset - (row[j] - center) * slope) * inverse


__all__ = ["add_normalization"]
