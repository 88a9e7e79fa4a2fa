"""The meta device: tensors with a shape and no data. Operators tell the shape of their results, and
cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_kernel import BY_NAME, DTYPES, ArrayBackend, BackendSpec, backend, dtype, hookimpl
from dovetail_kernel.devices import Placement, share_bytes

from ..kernel_support.geometry.memory_layout import contiguous_strides
from ..kernel_support.geometry.view_bounds import extent
from .meta_array import MetaArray


class MetaArrays(ArrayBackend):
    """Tells the core about meta arrays."""

    array_types = (MetaArray,)

    def __init__(self) -> None:
        self.dtype_bits = {each: each.bit for each in DTYPES}
        self.native_dtypes = {each: each for each in DTYPES}

    def asarray(self, value: Any, native_dtype: Any = None) -> MetaArray:
        """Return the geometry of `value`: an array of any backend with shape, strides and dtype, or
        a number. One without strides is contiguous.
        """
        if isinstance(value, MetaArray):
            return value if native_dtype in (None, value.dtype) else value.astype(native_dtype)
        known = native_dtype or BY_NAME[value.dtype.name]
        itemsize, strides = value.dtype.itemsize, getattr(value, "strides", None)
        steps = None if strides is None else [stride // itemsize for stride in strides]
        return MetaArray(value.shape, known, steps).astype(known)

    def scalar(self, value: Any, native_dtype: Any) -> MetaArray:
        """Return a 0-d array."""
        return MetaArray((), native_dtype)

    def to_host(self, array: object) -> NoReturn:
        """Refuse. Always raises NotImplementedError."""
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Make an empty tensor on the other device: "
            "empty_like(x, device=...)."
        )

    def empty(
        self, shape: tuple[int, ...], native_dtype: dtype, device_index: int | None = None
    ) -> MetaArray:
        """Return a C-contiguous array."""
        return MetaArray(shape, native_dtype)

    def resized(self, array: MetaArray, shape: tuple[int, ...]) -> MetaArray | None:
        """Return a view in C order of another shape that begins where `array` does; None if the
        memory has no room.
        """
        memory, strides = array.memory, contiguous_strides(shape)
        room = extent(memory.shape, memory.element_strides) * memory.itemsize
        if (array.offset + extent(shape, strides)) * array.itemsize > room:
            return None
        return array.shown(shape, strides)

    def data_ptr(self, array: MetaArray) -> int:
        """Return the distance from the start of the memory in bytes: there are no addresses."""
        return array.offset * array.dtype.itemsize

    def as_view(
        self,
        memory: MetaArray,
        native_dtype: dtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> MetaArray:
        """Return an array that shows a part of `memory`; strides and offset are in bytes."""
        itemsize = native_dtype.itemsize
        steps = [step // itemsize for step in strides]
        return MetaArray(shape, native_dtype, steps, offset // itemsize, memory.memory)

    def owns_memory(self, memory: MetaArray) -> bool:
        """Return True: nothing else can show memory that does not exist."""
        return True

    def strides(self, array: MetaArray) -> tuple[int, ...]:
        """Return the strides in elements."""
        return array.element_strides

    def copy_into(self, destination: MetaArray, source: MetaArray) -> None:
        """Do nothing: the shapes have been checked, and there is no data."""

    def cast(self, array: MetaArray, native_dtype: dtype) -> MetaArray:
        """Return `array` with another dtype."""
        return array.astype(native_dtype)

    def may_overlap(self, a: MetaArray, b: MetaArray) -> bool:
        """Return whether two arrays are views of the same memory that share some element; True if
        that is too hard to tell.
        """
        return a.memory is b.memory and share_bytes(_placement(a), _placement(b))

    def new_generator(self, seed: int) -> None:
        """Return nothing: no random number is ever drawn."""

    def generator_state(self, native: None, seed: int) -> bytes:
        """Return the seed."""
        return seed.to_bytes(8, "little")

    def restored_generator(self, state: bytes, like: None) -> tuple[None, int]:
        """Return nothing, and the seed."""
        return None, int.from_bytes(state, "little")


def _placement(array: MetaArray) -> Placement:
    itemsize = array.dtype.itemsize
    return Placement(array.offset * itemsize, array.shape, array.strides, itemsize)


def _load() -> None:
    from . import registration

    backend("meta").attach(MetaArrays())
    registration.register()


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the meta backend."""
    return BackendSpec("meta", _load)
