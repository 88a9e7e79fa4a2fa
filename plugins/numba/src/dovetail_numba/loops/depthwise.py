"""Convolutions of channels that stay apart, over images that are padded one by one: so that all
elements of a row are alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .collection import Collection


def add_depthwise(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`.

    The window is given by stride, padding and dilation, of rows and of columns. Each channel in has
    `multiple` channels out, of `channels` in all.
    """
    real = m.real
    zero = real(0)

    @njit(error_model="numpy", fastmath={"contract"})
    def add_row(to, row, tap, step):
        if step == 1:
            for c in range(to.size):
                to[c] += tap * row[c]
        elif step == 2:
            for c in range(to.size):
                to[c] += tap * row[2 * c]
        else:
            for c in range(to.size):
                to[c] += tap * row[c * step]

    @njit(error_model="numpy", fastmath={"contract"})
    def add_three(to, row, first, second, third):
        for c in range(to.size):
            to[c] += first * row[c] + second * row[c + 1] + third * row[c + 2]

    @njit(error_model="numpy", fastmath={"contract"})
    def sum_nine(made, a, b, c, t0, t1, t2, t3, t4, t5, t6, t7, t8):
        for i in range(made.size):
            made[i] = (
                (t0 * a[i] + t1 * a[i + 1] + t2 * a[i + 2])
                + (t3 * b[i] + t4 * b[i + 1] + t5 * b[i + 2])
                + (t6 * c[i] + t7 * c[i + 1] + t8 * c[i + 2])
            )

    @njit(error_model="numpy", fastmath={"contract"})
    def add_square(to, padded, t, made):
        # What three by three taps make of a padded image, as one line: rows of an image are short
        # for vector instructions. What lies between the rows of the result is left out.
        height, width, pitch = to.shape[0], to.shape[1], padded.shape[1]
        line = padded.reshape(padded.size)
        sum_nine(
            made[: (height - 1) * pitch + width], line, line[pitch:], line[2 * pitch :],
            t[0, 0], t[0, 1], t[0, 2], t[1, 0], t[1, 1], t[1, 2], t[2, 0], t[2, 1], t[2, 2],
        )  # fmt: skip
        for r in range(height):
            row, target = made[r * pitch : r * pitch + width], to[r]
            for c in range(width):
                target[c] += row[c]

    @njit(error_model="numpy", fastmath={"contract", "reassoc"})
    def add_row_of_products(total, g, row):
        first, second, third = zero, zero, zero
        for i in range(g.size):
            first += g[i] * row[i]
            second += g[i] * row[i + 1]
            third += g[i] * row[i + 2]
        total[0] += first
        total[1] += second
        total[2] += third

    @njit(error_model="numpy", fastmath={"contract"})
    def add_to_row(to, given, tap, step):
        if step == 1:
            for c in range(given.size):
                to[c] += tap * given[c]
        elif step == 2:
            for c in range(given.size):
                to[2 * c] += tap * given[c]
        else:
            for c in range(given.size):
                to[c * step] += tap * given[c]

    @njit(error_model="numpy", fastmath={"contract"})
    def add_products(to, given, row, step):
        if step == 1:
            for c in range(given.size):
                to[c] += given[c] * row[c]
        elif step == 2:
            for c in range(given.size):
                to[c] += given[c] * row[2 * c]
        else:
            for c in range(given.size):
                to[c] += given[c] * row[c * step]

    @loop(">f3 f3 f3 f1 i i i i i i i i i")
    def depthwise(out, x, weight, bias, channels, multiple, sh, sw, ph, pw, dh, dw, first):
        # The first of the channels out has the number `first`.
        height, width = x.shape[1], x.shape[2]
        columns = out.shape[2]
        is_square = weight.shape[1] == weight.shape[2] == 3 and sh == sw == dh == dw == 1
        padded = np.zeros((height + 2 * ph, width + 2 * pw), real)
        line = np.empty(padded.size, real)
        for image in range(x.shape[0]):
            padded[ph : ph + height, pw : pw + width] = x[image]
            for copy in range(multiple):
                each = image * multiple + copy
                channel = (first + each) % channels
                taps, made = weight[channel], out[each]
                if is_square:
                    made[:] = bias[channel]
                    add_square(made, padded, taps, line)
                    continue
                for r in range(out.shape[1]):
                    to = made[r]
                    for c in range(columns):
                        to[c] = bias[channel]
                    for p in range(taps.shape[0]):
                        row = padded[r * sh + p * dh]
                        if taps.shape[1] == 3 and sw == 1 and dw == 1:
                            add_three(to, row, taps[p, 0], taps[p, 1], taps[p, 2])
                        else:
                            for q in range(taps.shape[1]):
                                add_row(to, row[q * dw :], taps[p, q], sw)

    @loop(">f3 f3 f3 i i i i i i i i i")
    def depthwise_to_input(out, g, weight, channels, multiple, sh, sw, ph, pw, dh, dw, first):
        height, width = out.shape[1], out.shape[2]
        if (weight.shape[1] == weight.shape[2] == 3 and sh == sw == dh == dw == 1
                and ph <= 2 and pw <= 2):  # fmt: skip
            # The same kind of convolution, of the gradient, with the taps turned round.
            high, wide = g.shape[1], g.shape[2]
            wider = np.zeros((height + 2, width + 2), real)
            line = np.empty(wider.size, real)
            for image in range(out.shape[0]):
                out[image] = zero
                for copy in range(multiple):
                    each = image * multiple + copy
                    turned = weight[(first * multiple + each) % channels][::-1, ::-1]
                    wider[2 - ph : 2 - ph + high, 2 - pw : 2 - pw + wide] = g[each]
                    add_square(out[image], wider, turned, line)
            return
        padded = np.empty((height + 2 * ph, width + 2 * pw), real)
        for image in range(out.shape[0]):
            padded[:] = zero
            for copy in range(multiple):
                each = image * multiple + copy
                taps, grad = weight[(first * multiple + each) % channels], g[each]
                for r in range(g.shape[1]):
                    given = grad[r]
                    for p in range(taps.shape[0]):
                        row = padded[r * sh + p * dh]
                        for q in range(taps.shape[1]):
                            add_to_row(row[q * dw :], given, taps[p, q], sw)
            out[image] = padded[ph : ph + height, pw : pw + width]

    @loop(">f3 f3 f3 i i i i i i i i i")
    def depthwise_to_weight(out, g, x, channels, multiple, sh, sw, ph, pw, dh, dw, first):
        # `out` are the weights of channels from `first` on.
        height, width = x.shape[1], x.shape[2]
        padded = np.zeros((height + 2 * ph, width + 2 * pw), real)
        # The sums of columns have few terms in their own precision; theirs are in double.
        total = np.empty((out.shape[1], out.shape[2], g.shape[2]), real)
        # Those of rows of three taps are taken at once, and added in double precision too.
        is_three = out.shape[2] == 3 and sw == dw == 1
        sums = np.zeros((out.shape[1], out.shape[2]))
        for each in range(out.shape[0]):
            total[:] = zero
            sums[:] = 0.0
            for image in range(g.shape[0] // channels):
                place = image * channels + first + each
                grad = g[place]
                padded[ph : ph + height, pw : pw + width] = x[place // multiple]
                for r in range(g.shape[1]):
                    given = grad[r]
                    for p in range(out.shape[1]):
                        row = padded[r * sh + p * dh]
                        if is_three:
                            add_row_of_products(sums[p], given, row)
                            continue
                        for q in range(out.shape[2]):
                            add_products(total[p, q], given, row[q * dw :], sw)
            for p in range(out.shape[1]):
                for q in range(out.shape[2]):
                    whole = sums[p, q]
                    for c in range(g.shape[2]):
                        whole += total[p, q, c]
                    out[each, p, q] = whole


__all__ = ["add_depthwise"]
