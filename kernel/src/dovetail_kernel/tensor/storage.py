"""Storage: the memory that a tensor and its views share, known by identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..devices.backends import Backend, backend_of_signature
from ..devices.device import Device
from ..devices.memory import new_memory
from ..signature import WRAPPED_BIT
from ..sockets import STORAGE_CLASS
from .dataless import DatalessArray

if TYPE_CHECKING:
    from ..typing import ShapedArray
    from .tensor_base import TensorBase

_new: Final = object.__new__


class Storage:
    """The memory behind a tensor. Two tensors alias each other exactly if their storages are the
    same object.

    It is created at the latest when a second tensor shares the memory. The base library fills the
    socket `STORAGE_CLASS` with a subclass that users can create and read.
    """

    __slots__ = ("__weakref__", "_array", "_backend", "noted_views")

    _array: Any
    _backend: Backend
    noted_views: dict[int, Any]
    """Where arrays cannot be written: how views show the array. Unset until there is one."""

    @classmethod
    def of(cls, array: ShapedArray, backend: Backend) -> Storage:
        """Return a storage that consists of the memory that `array` owns."""
        made = object.__new__(cls)
        made._array = array
        made._backend = backend
        return made

    @property
    def array(self) -> Any:
        """The backend's array that owns the memory."""
        return self._array

    @property
    def device(self) -> Device:
        """Device of the memory."""
        if not self._backend.is_device:
            wrapped: Device = self._array.physical.device
            return wrapped
        return Device(self._backend.name, self._backend.arrays.device_index(self._array))

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 without bytes."""
        start, stop = self._bounds()
        return start if start != stop else 0

    def nbytes(self) -> int:
        """Return the size in bytes, from the lowest to the highest, also where foreign memory has
        gaps between its elements.
        """
        start, stop = self._bounds()
        return stop - start

    def _bounds(self) -> tuple[int, int]:
        array = self._array
        return (
            (0, 0) if array.__class__ is DatalessArray else self._backend.arrays.byte_bounds(array)
        )

    def place(self) -> tuple[Any, ...]:
        """Return the identity key of the memory: address and size. Read-only memory gets a key
        unique to this storage.
        """
        if self._backend.arrays.mutable_arrays:
            return self._bounds()[0], self.nbytes(), str(self.device)
        return id(self), 0, str(self.device)

    def size(self) -> int:
        """Return the size in bytes (an untyped storage counts bytes)."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.nbytes()} bytes on {self.device}>"


def share_storage(tensor: TensorBase) -> Storage:
    """Return the storage of `tensor`, to share with another object; create it if missing."""
    storage = tensor._storage
    if storage is None:
        backend = backend_of_signature(tensor._signature)
        array = tensor.array
        memory = array if array.__class__ is DatalessArray else backend.arrays.storage_of(array)
        storage = _new(STORAGE_CLASS.plug or Storage)  # every view asks: without a call of `of`
        storage._array, storage._backend = memory, backend
        tensor._storage = storage
    return storage


def new_storage(backend: Backend, nbytes: int, device_index: int | None = None) -> Storage:
    """Return a storage of new, uninitialized memory. Raises the errors of `Allocator.allocate`."""
    cls = STORAGE_CLASS.plug or Storage
    return cls.of(new_memory(backend.arrays, nbytes, device_index), backend)


def without_wrappers(tensor: TensorBase) -> TensorBase:
    """Return the tensor inside of all wrappers: the samples of a `vmap` together, the primal of a
    dual.
    """
    while tensor._signature & WRAPPED_BIT:
        tensor = tensor.array.physical
    return tensor
