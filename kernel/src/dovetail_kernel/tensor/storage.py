"""Storage: the memory that a tensor and its views share, known by identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..devices.device import Device
from .dataless import DatalessArray

if TYPE_CHECKING:
    from ..devices.backends import Backend
    from .tensor_base import TensorBase


class Storage:
    """The memory behind a tensor. Two tensors alias each other exactly if their storages are the
    same object.
    """

    __slots__ = ("__weakref__", "_array", "_backend")

    def __init__(self, array: Any, backend: Backend) -> None:
        self._array = array
        self._backend = backend

    @property
    def array(self) -> Any:
        """The backend's array that owns the memory."""
        return self._array

    @property
    def device(self) -> Device:
        """Where the memory is."""
        if not self._backend.is_device:
            wrapped: Device = self._array.physical.device
            return wrapped
        return Device(self._backend.name, self._backend.arrays.device_index(self._array))

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._bounds()[0]

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

    def size(self) -> int:
        """Return the size in bytes (an untyped storage counts bytes)."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def resizable(self) -> bool:
        """Return False: the arrays of other libraries cannot be resized in place."""
        return False

    def resize_(self, nbytes: int) -> None:
        """Refuse.

        Raises
        ------
        RuntimeError
            Always; the memory belongs to the backend's array.
        """
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: it has {self.nbytes()} bytes that "
            "belong to a "
            f"{type(self._array).__name__}. Make a new tensor of the wanted size and copy."
        )

    def __repr__(self) -> str:
        return f"<dovetail.UntypedStorage of {self.nbytes()} bytes on {self.device}>"


def share_storage(tensor: TensorBase) -> Storage:
    """Return the storage of `tensor`, made if there is none yet, for another object to hold."""
    storage = tensor._storage
    if storage is None:
        backend = tensor._backend
        array = tensor.array
        memory = array if array.__class__ is DatalessArray else backend.arrays.storage_of(array)
        storage = tensor._storage = Storage(memory, backend)
    return storage
