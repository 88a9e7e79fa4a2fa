"""`DatalessArray`: geometry without elements. A wrapper subclass holds one instead of an array, and
so does a tensor whose storage was made too small for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ..typing import NativeDtype


class DatalessArray:
    """Geometry of a tensor without accessible elements: of a wrapper subclass, or freed.

    It can belong to any backend, and has only the descriptive attributes of an array. No kernel can
    read it: calls on a wrapper subclass go to its ``__torch_dispatch__``, others raise an error.

    Parameters
    ----------
    shape
        Sizes.
    dtype
        The backend's native dtype.
    element_strides
        Strides in elements; default: C-contiguous.
    offset
        Distance of the first element from the start of the memory, in elements.
    device_index
        Index of the device; None if devices have no index.
    why
        Reason for errors on access to elements. Default: they belong to the subclass.

    Attributes
    ----------
    asked : tuple of str
        What the subclass is asked: ``"sym_size"``, ``"sym_stride"``, ``"sym_numel"``.
    ask : Callable or None
        Returns its answer; None stands for the geometry given here.
    """

    __slots__ = (
        *("_device_index", "_shape", "_strides", "dtype", "offset"),
        *("ask", "asked", "base", "why"),
    )

    def __init__(
        self,
        shape: Sequence[int],
        dtype: NativeDtype,
        element_strides: Sequence[int] | None = None,
        offset: int = 0,
        device_index: int | None = None,
        why: str | None = None,
    ) -> None:
        self.why = why
        self._shape = tuple(shape)
        self.asked: tuple[str, ...] = ()
        self.ask: Callable[[str], Any] | None = None
        self.dtype = dtype
        self._strides = element_strides if element_strides is None else tuple(element_strides)
        self.offset = offset
        self._device_index = device_index or 0
        self.base: Any = None

    def _answer(self, question: str) -> Any:
        asked = self.asked
        if self.ask is None or question not in asked:
            return None
        self.asked = ()  # the class, while it answers, sees the geometry given here
        try:
            return self.ask(question)
        finally:
            self.asked = asked

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        asked = self._answer("sym_size")
        return self._shape if asked is None else tuple(asked)

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        asked = self._answer("sym_stride")
        if asked is not None:
            return tuple(asked)
        return _contiguous(self._shape) if self._strides is None else self._strides

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def device(self) -> SimpleNamespace:
        """The device, as arrays of CuPy have it."""
        return SimpleNamespace(id=self._device_index)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple([stride * self.itemsize for stride in self.element_strides])

    @property
    def size(self) -> int:
        """The number of elements of the shape."""
        asked = self._answer("sym_numel")
        return prod(self.shape) if asked is None else int(asked)

    @property
    def nbytes(self) -> int:
        """Size in bytes: 0."""
        return 0

    @property
    def flags(self) -> SimpleNamespace:
        """Contiguity flags, as of arrays."""
        dense = zip(self.shape, self.element_strides, _contiguous(self.shape), strict=True)
        return SimpleNamespace(
            c_contiguous=0 in self.shape or all([n == 1 or own == c for n, own, c in dense]),
            writeable=False,
        )

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self.refuse()

    def __getitem__(self, key: object) -> NoReturn:
        self.refuse()

    def __setitem__(self, key: object, value: object) -> NoReturn:
        self.refuse()

    def __dlpack__(self, **_options: Any) -> NoReturn:
        self.refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise an error on use as an array.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(
            self.why
            or f"A wrapper subclass of shape {list(self.shape)} has no data: its class finds the "
            "elements, and something looked for them without asking it. Handle the operator in its "
            "__torch_dispatch__, or run it on the tensor that is wrapped."
        )


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(shape[dim], 1)
    return tuple(strides)
