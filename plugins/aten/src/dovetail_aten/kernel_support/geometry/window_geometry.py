"""Windows that slide along the lines of an array: where they lie, and how many there are.

Convolutions, pooling and their gradients are all made of them; the meta device asks for the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """Equal windows along one dimension, one every `stride` elements.

    Attributes
    ----------
    size
        Length of the line.
    kernel
        Elements of a window.
    stride
        Distance between the first elements of two windows.
    padding
        Elements before the line that the first window begins with. Behind it as many are padded as
        the last window needs.
    dilation
        Distance between two elements of a window.
    number
        The number of windows.
    """

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    number: int

    @property
    def padded(self) -> int:
        """Length of the padded line that holds every window, and the line itself."""
        reach = (self.number - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(self.padding + self.size, reach)

    def at(self, offset: int) -> slice:
        """Return where element `offset` of every window lies in the padded line."""
        start = offset * self.dilation
        return slice(start, start + max((self.number - 1) * self.stride + 1, 0), self.stride)


def per_dimension(values: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return one number for each of `ndim` dimensions; a single one counts for all."""
    given = tuple(values)
    return given * ndim if len(given) == 1 else given


def positions(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows of `kernel` elements fit into a line padded on both sides."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
