"""Running sums, products and extrema, along rows and along the middle of three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .collection import Collection


def add_scans(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real

    @loop(">f2 f2")
    def cumsum(out, x):
        n, length = x.shape
        i = 0
        while i + 4 <= n:  # four rows at a time, because each sum waits for the one before
            a = b = c = d = -0.0  # which changes nothing, not even the sign of a zero
            for j in range(length):
                a += x[i, j]
                b += x[i + 1, j]
                c += x[i + 2, j]
                d += x[i + 3, j]
                out[i, j] = a
                out[i + 1, j] = b
                out[i + 2, j] = c
                out[i + 3, j] = d
            i += 4
        while i < n:
            a = -0.0
            for j in range(length):
                a += x[i, j]
                out[i, j] = a
            i += 1

    @loop(">f2 f2")
    def cumprod(out, x):
        n, length = x.shape
        i = 0
        while i + 4 <= n:
            a = b = c = d = 1.0
            for j in range(length):
                a *= x[i, j]
                b *= x[i + 1, j]
                c *= x[i + 2, j]
                d *= x[i + 3, j]
                out[i, j] = a
                out[i + 1, j] = b
                out[i + 2, j] = c
                out[i + 3, j] = d
            i += 4
        while i < n:
            a = 1.0
            for j in range(length):
                a *= x[i, j]
                out[i, j] = a
            i += 1

    @loop(">f3 f3 b")
    def scan_columns(out, x, is_product):
        width = x.shape[2]
        now = np.empty(width, np.float64)
        for i in range(x.shape[0]):
            now[:] = 1.0 if is_product else -0.0
            for j in range(x.shape[1]):
                row, to = x[i, j], out[i, j]
                if is_product:
                    for k in range(width):
                        now[k] *= row[k]
                        to[k] = now[k]
                else:
                    for k in range(width):
                        now[k] += row[k]
                        to[k] = now[k]

    @loop(">f2 >i2 f2 b")
    def running_extrema_of_rows(out, places, x, is_least):
        for i in range(x.shape[0]):
            row, to, at = x[i], out[i], places[i]
            now, place = row[0], 0
            for j in range(row.size):
                value = row[j]
                follows = value <= now if is_least else value >= now
                if value != value or (follows and now == now):
                    now, place = value, j
                to[j] = now
                at[j] = place

    @loop(">f3 >i3 f3 b")
    def running_extrema(out, places, x, is_least):
        width = x.shape[2]
        now, at = np.empty(width, real), np.empty(width, np.int64)
        for i in range(x.shape[0]):
            now[:] = x[i, 0]
            at[:] = 0
            for j in range(x.shape[1]):
                for k in range(width):
                    value = x[i, j, k]
                    # The last of equal ones; once there is NaN, the last NaN.
                    follows = value <= now[k] if is_least else value >= now[k]
                    if value != value or (follows and now[k] == now[k]):
                        now[k] = value
                        at[k] = j
                    out[i, j, k] = now[k]
                    places[i, j, k] = at[k]


__all__ = ["add_scans"]
