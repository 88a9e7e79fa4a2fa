"""`Size`: the shape of a tensor, a tuple of ints that knows its product; and its indices."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex, overload

_item: Any = tuple.__getitem__


class Size(tuple[int, ...]):
    """A tuple of ints; slices, sums and multiples of it are Sizes too.

    For a tuple that is known to contain ints, ``tuple.__new__(Size, shape)`` skips the checks.

    Raises
    ------
    TypeError
        If an item is not an integer.
    """

    __slots__ = ()

    _package: ClassVar[str] = "dovetail"

    def __new__(cls, iterable: Iterable[SupportsIndex] = ()) -> Size:
        items = tuple(iterable)
        sizes: list[int] = []
        try:
            for item in items:
                sizes.append(int(index(item)))
        except Exception:  # whatever `__index__` raises: a StopIteration would end a loop
            position = len(sizes)
            raise TypeError(
                f"dovetail.Size() takes an iterable of 'int' (item {position} is "
                f"'{type(items[position]).__name__}'); convert it with int()"
            ) from None
        return tuple.__new__(cls, sizes)

    def numel(self) -> int:
        """Return the number of elements: the product of the sizes, 1 for no dimensions."""
        return prod(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | Size:
        if key.__class__ is slice:
            return tuple.__new__(Size, _item(self, key))
        item: int = _item(self, key)
        return item

    def __add__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size((*self, *other))

    def __radd__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size((*other, *self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{self._package}.Size({list(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


class _KnownSizes(dict[tuple[int, ...], Size]):
    """The Size of each shape that was asked for: they are few, and reading one costs less than
    making it.
    """

    def __missing__(self, shape: tuple[int, ...]) -> Size:
        if len(self) >= 1024:
            self.clear()
        made = Size(shape)
        self[tuple(made)] = made
        return made


KNOWN_SIZES: Final = _KnownSizes()
"""``KNOWN_SIZES[shape]`` is the Size of a tuple of ints."""


def single_size(axis: int, dim: int | None) -> int:
    """Return a dimension given by NumPy's name, if it was not given as `dim` as well."""
    if dim is not None:
        raise TypeError("got 'dim' and 'axis', which mean the same. Give one of them.")
    return axis


def wrap_dim(dim: int, ndim: int) -> int:
    """Return the index of dimension `dim` of `ndim`, counted from the end where it is negative.

    Raises
    ------
    IndexError
        If there is no such dimension.
    """
    if not -ndim <= dim < ndim:
        least, most = -max(ndim, 1), max(ndim, 1) - 1
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{least}, {most}], but got {dim})"
        )
    return dim % ndim
