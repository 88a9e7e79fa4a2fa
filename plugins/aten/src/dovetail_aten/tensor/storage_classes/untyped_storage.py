"""`UntypedStorage`: the bytes that tensors show, made, read and written as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index as as_index
from typing import Any, Final, cast

from dovetail_kernel import DatalessArray, Device, Storage, new_storage, resize_storage, uint8, wrap
from dovetail_kernel.sockets import STORAGE_CLASS
from dovetail_kernel.tensor import is_resizable, move_storage

from ...backend.devices import as_device, backend_for, ready_backend
from .file_memory import bytes_of_buffer, bytes_of_file
from .storage_conversions import StorageConversions

_SHOWN: Final = 1000
"""A storage of more bytes is printed without those in the middle."""


class UntypedStorage(StorageConversions, Storage):
    """A line of bytes on one device.

    ``UntypedStorage()``, ``UntypedStorage(nbytes)`` and ``UntypedStorage(sequence)`` make one;
    `Tensor.untyped_storage` returns that of a tensor, and ``set_`` lets a tensor show one.

    Parameters
    ----------
    size
        The number of bytes, whose values are not set, or a sequence of integers, which become bytes
        without their higher bits. Default: 0.
    device
        Device of the memory. Default: the cpu.

    Raises
    ------
    RuntimeError
        If the argument is neither, for a negative number, and for more bytes than there are.
    """

    __slots__ = ()

    def __new__(cls, size: Any = 0, *, device: Any = None) -> UntypedStorage:
        """Return a storage of new memory."""
        place = Device("cpu") if device is None else as_device(device)
        backend = backend_for(place)
        values: Sequence[Any] | None = None
        if isinstance(size, list | tuple):
            values, size = size, len(size)
        try:
            nbytes = as_index(size)
        except TypeError:
            raise RuntimeError(
                f"UntypedStorage(): argument 'size' must be int or a sequence of ints, not "
                f"{type(size).__name__}. Give a number of bytes, or their values."
            ) from None
        made = new_storage(backend, nbytes, place.index)
        assert isinstance(made, UntypedStorage)
        if values is not None:
            made._write(0, [_byte(value) for value in values])
        return made

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Return the first `nbytes` bytes of a file. With `shared`, writes go to the file, which
        is created if missing; else they stay in this process.

        Raises
        ------
        RuntimeError
            If the file cannot be opened, and where it has fewer bytes and `shared` is False.
        """
        return cls._of_line(bytes_of_file(filename, shared, nbytes))

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        dtype: Any = uint8,
    ) -> UntypedStorage:
        """Return a copy of `count` elements of a buffer behind `offset` bytes, by default all.

        Raises
        ------
        ValueError
            If `byte_order` is none of "native", "little" and "big"; it may be left out for bytes.
            If the buffer does not have that many elements.
        """
        order = "native" if byte_order is None and dtype.itemsize == 1 else byte_order
        return cls._of_line(bytes_of_buffer(buffer, order, count, offset, dtype))

    @classmethod
    def _of_line(cls, array: Any) -> UntypedStorage:
        return cast(UntypedStorage, cls.of(array, ready_backend("cpu")))

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    # -- reading and writing -----------------------------------------------------------------------

    def _bytes(self) -> Any:
        """Return the memory as the backend's array of uint8."""
        array, arrays = self._array, self._backend.arrays
        if array.__class__ is DatalessArray:
            array.refuse()
        return arrays.as_view(array, arrays.native_dtypes[uint8], (self.nbytes(),), (1,), 0)

    def _host(self) -> Any:
        """Return the bytes in host memory. Raises NotImplementedError on the meta device."""
        if self._backend.name == "meta":
            raise NotImplementedError(
                "Not available for 'meta' device type: there is no data. Make the storage on a "
                "real device."
            )
        return self._backend.arrays.to_host(self._bytes())

    def _write(self, start: int, values: Sequence[int]) -> None:
        arrays = self._backend.arrays
        if values and self._backend.name != "meta":
            host = memoryview(bytes(values))
            source = arrays.asarray(ready_backend("cpu").arrays.asarray(host))
            arrays.copy_into(self._bytes()[start : start + len(values)], source)

    def __getitem__(self, index: Any) -> Any:
        """Return the byte at an integer; a storage that shows the bytes of a slice without step.

        Raises
        ------
        IndexError
            If there is no such byte.
        TypeError
            For any other index.
        RuntimeError
            For a slice with a step.
        """
        if isinstance(index, slice):
            start, stop = self._range(index)
            return type(self).of(self._bytes()[start:stop], self._backend)
        if not isinstance(index, int):
            raise TypeError(
                f"can't index a dovetail.UntypedStorage with {type(index).__name__}. Use an int "
                "or a slice."
            )
        place = self._place(index)
        return int(self._host()[place])

    def __setitem__(self, index: Any, value: object) -> None:
        """Set a byte, or the bytes of a slice, to a number. Raises the errors of indexing, and
        RuntimeError if the value or the index is not an integer.
        """
        if not isinstance(value, int):
            raise RuntimeError(
                "can only set storage content with a int types, but got "
                f"{type(value).__name__} instead. Use copy_() for several values."
            )
        if isinstance(index, slice):
            start, stop = self._range(index)
        elif isinstance(index, int):
            start = self._place(index, RuntimeError)
            stop = start + 1
        else:
            raise RuntimeError(
                f"can't index a dovetail.UntypedStorage with {type(index).__name__}. Use an int "
                "or a slice."
            )
        self._write(start, [_byte(value)] * (stop - start))

    def _place(self, index: int, error: type[Exception] = IndexError) -> int:
        size = self.nbytes()
        if not -size <= index < size:
            raise error(
                f"out of bounds: index {index} out of range for storage of size {size}. Use an "
                f"index from {-size} to {size - 1}."
            )
        return index % size

    def _range(self, index: slice) -> tuple[int, int]:
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(
                f"Trying to slice with a step of {step}, but only a step of 1 is supported. Make a "
                "tensor of the storage: empty(0, dtype=uint8).set_(storage)[::step]."
            )
        return start, max(start, stop)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """Return the bytes as a list of integers. Raises NotImplementedError on the meta device."""
        values: list[int] = self._host().tolist()
        return values

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to `value`, without its higher bits. Raises RuntimeError for another kind
        of number.
        """
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}. Give a byte.")
        arrays = self._backend.arrays
        if self.nbytes():
            native = arrays.native_dtypes[uint8]
            arrays.copy_into(self._bytes(), arrays.scalar(_byte(value), native))
        return self

    def copy_(self, source: Storage, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the bytes of another storage of the same size, on any device.

        Raises
        ------
        RuntimeError
            If the sizes differ.
        TypeError
            If `source` is not a storage.
        """
        found = getattr(source, "_untyped_storage", source)
        if not isinstance(found, UntypedStorage):
            raise TypeError(
                "copy_(): argument 'src' (position 1) must be dovetail.Storage, not "
                f"{type(source).__name__}. Give its untyped_storage()."
            )
        if found.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{found.nbytes()} bytes. Use resize_() first."
            )
        if self.nbytes() and self._backend.name != "meta":
            arrays = self._backend.arrays
            same = found._backend is self._backend and found.device == self.device
            arrays.copy_into(
                self._bytes(), found._bytes() if same else arrays.asarray(found._host())
            )
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy of the storage."""
        return UntypedStorage(self.nbytes(), device=self.device).copy_(self)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        found: UntypedStorage | None = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = self.clone()
        return found

    # -- size and place ----------------------------------------------------------------------------

    @property
    def _cdata(self) -> int:
        """A number that storages have in common only if they are the same one."""
        return id(self)

    def element_size(self) -> int:
        """Return 1: the elements are bytes."""
        return 1

    def resizable(self) -> bool:
        """Return whether `resize_` may move the memory: nothing but tensors shows it."""
        return is_resizable(self)

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Give the storage another size, and return it. It keeps what it holds, as far as there is
        room, and all tensors that show it see the new memory.

        A tensor that reaches beyond the new end has no data until the storage is large enough
        again; what reads it raises RuntimeError.

        Raises
        ------
        RuntimeError
            If something besides tensors shows the memory, or it belongs to another library; for a
            negative number, and for a value that is not an integer.
        """
        if nbytes.__class__ is not int:
            raise RuntimeError(
                f"resize_ expects an int, but got {type(nbytes).__name__}. Give a number of bytes."
            )
        resize_storage(self, nbytes)
        return self

    def is_shared(self) -> bool:
        """Return whether the memory is shared with other processes."""
        pointer = self._pointer()
        return pointer is not None and pointer.is_shared

    def share_memory_(self) -> UntypedStorage:
        """Move the memory to where processes share it that are forked from this one, or that it is
        sent to, and return the storage; all tensors on it move along. Arrays of other libraries
        that show the memory keep the old one. The storage cannot be resized any more.

        Raises
        ------
        RuntimeError
            For a device that has no such memory, and for tensors without memory.
        """
        allocator = self._backend.arrays.shared_allocator
        if allocator is None or self._array.__class__ is DatalessArray:
            raise RuntimeError(
                f"share_memory_: memory of device {self.device} cannot be shared between "
                "processes. Copy it to the cpu first."
            )
        if not self.is_shared():
            arrays, nbytes = self._backend.arrays, self.nbytes()
            move_storage(self, lambda: arrays.bytes_at(allocator.allocate(nbytes)))
        return self

    def _shared_handle(self) -> int | None:
        """Return the descriptor of shared memory, None if it has none."""
        handle: int | None = getattr(self._pointer().get_context(), "handle", None)
        return handle

    def _pointer(self) -> Any:
        array = self._array
        if array.__class__ is DatalessArray or not self._backend.is_device:
            return None
        return self._backend.arrays.pointer_of(array)

    @property
    def is_cuda(self) -> bool:
        """Whether the bytes are on a CUDA device."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """Return the index of the device; -1 if devices have no index."""
        index = self.device.index
        return -1 if index is None else index

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Return the storage, or a copy of it on another device."""
        place = as_device(device)
        if place == self.device:
            return self
        return UntypedStorage(self.nbytes(), device=place).copy_(self)

    def cpu(self) -> UntypedStorage:
        """Return the storage, or a copy of it in host memory."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return the storage, or a copy of it on a CUDA device."""
        return self.to(device="cuda" if device is None else Device("cuda", device))

    def untyped(self) -> UntypedStorage:
        """Return the storage itself."""
        return self

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def _line(self) -> Any:
        line = wrap(self._bytes(), self._backend)
        line._storage = self
        return line

    def __repr__(self) -> str:
        where = f"[dovetail.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        if self._backend.name == "meta" or self._array.__class__ is DatalessArray:
            return f"...\n{where}"
        values = self.tolist() if self.nbytes() <= _SHOWN else None
        if values is None:
            host = self._host()
            lines = [*map(str, host[:3].tolist()), "...", *map(str, host[-3:].tolist())]
        else:
            lines = [str(value) for value in values]
        return "".join([f" {line}\n" for line in lines]) + where


def _byte(value: Any) -> int:
    try:
        return as_index(value) % 256
    except TypeError:
        raise RuntimeError(
            f"a storage holds bytes, but got {type(value).__name__}: {value!r:.40}. Give integers, "
            "or make a TypedStorage."
        ) from None


STORAGE_CLASS.fill(UntypedStorage)
