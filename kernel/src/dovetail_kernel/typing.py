"""Protocols of what crosses the borders of distributions: arrays of any backend.

For annotations alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class NativeDtype(Protocol):
    """A dtype of an array library, such as `numpy.dtype`."""

    @property
    def itemsize(self) -> int:
        """Bytes per element."""


class ShapedArray(Protocol):
    """An array of some backend, such as NumPy's, CuPy's or Dask's: its geometry and its elements.

    `dovetail_aten.typing.Array` adds arithmetic.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def dtype(self) -> Any:
        """Native dtype of the elements, of the array library's own class."""

    @property
    def astype(self) -> Callable[..., Any]:
        """Method that copies the array to another dtype."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
