"""Maxima over windows of images, and what is added at their places."""

from __future__ import annotations

from typing import Any

from .collection import Collection


def add_windows(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real
    zero = real(0)

    @loop(">f3 >i3 f3")
    def max_pool_by_two(out, places, x):
        width = x.shape[2]
        for image in range(x.shape[0]):
            for r in range(out.shape[1]):
                above, under = x[image, 2 * r], x[image, 2 * r + 1]
                to, at = out[image, r], places[image, r]
                first = 2 * r * width
                for c in range(out.shape[2]):
                    best, place = above[2 * c], 2 * c
                    value = above[2 * c + 1]
                    is_more = value > best or value != value
                    best = value if is_more else best
                    place = 2 * c + 1 if is_more else place
                    value = under[2 * c]
                    is_more = value > best or value != value
                    best = value if is_more else best
                    place = width + 2 * c if is_more else place
                    value = under[2 * c + 1]
                    is_more = value > best or value != value
                    best = value if is_more else best
                    place = width + 2 * c + 1 if is_more else place
                    to[c] = best
                    at[c] = first + place

    @loop(">f2 f2 i2")
    def add_at_places(out, g, places):
        size = out.shape[1]
        is_right = True
        for image in range(g.shape[0]):
            to, at, grad = out[image], places[image], g[image]
            for j in range(to.size):
                to[j] = zero
            for j in range(grad.size):
                place = at[j]
                if 0 <= place < size:
                    to[place] += grad[j]
                else:
                    is_right = False
        return is_right


__all__ = ["add_windows"]
