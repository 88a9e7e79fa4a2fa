"""`TypedStorage`: the elements of one dtype that a storage holds; what old PyTorch programs
work on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dovetail_kernel import (
    Device,
    DeviceLike,
    NamedDtype,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
    warn_user,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as Dtype

from ...sockets import TYPED_STORAGE
from ...typing import Array, Tensor
from ..data.from_data import tensor as make_tensor
from ..data.storage_views import vector_of_storage
from .internal_names import InternalNames
from .untyped_storage import UntypedStorage

_FORMS: Final = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of: "
    "(*, device, dtype), (size, *, device, dtype), (sequence, *, device, dtype), "
    "(*, UntypedStorage wrap_storage, dtype)."
)


def _warn() -> None:
    warn_user(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )


class _StorageMeta(type):
    """The class of `TypedStorage` and its legacy kin, which recognise storages by their dtype."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is TypedStorage or not issubclass(cls, TypedStorage):
            return type.__instancecheck__(cls, instance)
        own: Any = cls
        return isinstance(instance, TypedStorage) and instance.dtype is own.dtype


class TypedStorage(InternalNames, metaclass=_StorageMeta):
    """A one-dimensional sequence of elements of one dtype over an `UntypedStorage`.

    Parameters
    ----------
    size
        The number of uninitialized elements, or a sequence of values. Default: 0.
    wrap_storage
        An `UntypedStorage` to use instead.
    dtype
        Dtype of the elements. Default: the default dtype; required with `wrap_storage`.
    device
        Device of the memory. Default: the cpu, or the device of `wrap_storage`.

    Raises
    ------
    RuntimeError
        For any other combination of arguments.
    TypeError
        If `size` is neither a number nor a sequence.
    """

    __slots__ = ("__weakref__", "_untyped_storage", "dtype")

    dtype: Dtype
    _untyped_storage: UntypedStorage

    def __init__(
        self,
        *args: Any,
        wrap_storage: object = None,
        dtype: object = None,
        device: DeviceLike | None = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            _warn()
        wanted = dtype
        if wanted is not None and not isinstance(wanted, Dtype):
            raise RuntimeError(
                f"expected dovetail.dtype, but got {type(wanted)}. Give one such as "
                "dovetail.float32."
            )
        if isinstance(wanted, NamedDtype):
            raise wanted.refusal()
        if wrap_storage is not None:
            if args or wanted is None or not isinstance(wrap_storage, UntypedStorage):
                raise RuntimeError(
                    f"{_FORMS} With 'wrap_storage', 'dtype' must be specified, and no size; "
                    "'wrap_storage' must be an UntypedStorage."
                )
            self.dtype, self._untyped_storage = wanted, wrap_storage
            return
        if len(args) > 1:
            raise RuntimeError(f"{_FORMS} Too many positional arguments: {len(args)}.")
        self.dtype = wanted or get_default_dtype()
        given = args[0] if args else 0
        place = Device("cpu") if device is None else device
        if isinstance(given, int):
            nbytes = given * self.dtype.itemsize
            self._untyped_storage = UntypedStorage(nbytes, device=place)
        elif isinstance(given, list | tuple):
            values: Any = make_tensor(given, dtype=self.dtype, device=place)
            self._untyped_storage = values.reshape(-1).untyped_storage()
        else:
            raise TypeError(
                f"new(): invalid data type {type(given).__name__!r}. Give a number of elements, or "
                "a sequence of values."
            )

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """Return `size` elements of a file; see `UntypedStorage.from_file`. Raises RuntimeError for
        a class without dtype.
        """
        if cls is TypedStorage:
            raise RuntimeError(
                "from_file can only be called on derived classes. Call that of FloatStorage, say."
            )
        wanted: Dtype = _dtype_of(cls)
        return rebuild_typed_storage(
            UntypedStorage.from_file(filename, shared, size * wanted.itemsize), wanted
        )

    @classmethod
    def from_buffer(
        cls,
        buffer: object,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Dtype | None = None,
    ) -> TypedStorage:
        """Return a copy of the elements of a buffer; see `UntypedStorage.from_buffer`."""
        wanted = dtype or get_default_dtype() if cls is TypedStorage else _dtype_of(cls)
        made = UntypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=wanted)
        return rebuild_typed_storage(made, wanted)

    def _line(self) -> Any:
        return vector_of_storage(self, None)

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    # -- reading and writing -----------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """Return the element at an integer. Raises IndexError, and RuntimeError for a slice or
        another index.
        """
        if isinstance(index, slice):
            raise RuntimeError(
                "slices are only supported in UntypedStorage.__getitem__. Use untyped()[...], or a "
                "tensor."
            )
        if not isinstance(index, int):
            raise RuntimeError(
                f"can't index a {type(self)} with {type(index)}. Use an int, or a tensor."
            )
        size = self._size()
        if not -size <= index < size:
            raise IndexError(
                f"index {index} out of range for storage of size {size}. Use an index from "
                f"{-size} to {size - 1}."
            )
        return self._line()[index].item()

    def __setitem__(self, index: Array, value: object) -> None:
        """Set the element at an integer, or those of a slice."""
        if not isinstance(index, int | slice):
            raise RuntimeError(
                f"can't index a {type(self)} with {type(index)}. Use an int, or a slice."
            )
        self._line()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as a list of numbers."""
        values: list[Any] = self._line().tolist()
        return values

    def fill_(self, value: object) -> TypedStorage:
        """Set every element to a number."""
        self._line().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source)
        return self

    def clone(self) -> TypedStorage:
        """Return a copy of the storage."""
        return typed_storage_of(self._line().clone())

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> TypedStorage:
        copied = self._untyped_storage.__deepcopy__(memo)
        return TypedStorage(wrap_storage=copied, dtype=self.dtype, _internal=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_typed_storage, (self._untyped_storage, self.dtype)

    # -- size and place ----------------------------------------------------------------------------

    @property
    def _cdata(self) -> int:
        """A number that storages have in common only if they show the same memory."""
        return self._untyped_storage._cdata

    def size(self) -> int:
        """Return the number of elements."""
        return self._size()

    __len__ = size

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._untyped_storage.nbytes()

    def __sizeof__(self) -> int:
        """Return the bytes of the object and of what it shows."""
        return super().__sizeof__() + self.nbytes()

    def element_size(self) -> int:
        """Return the number of bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._untyped_storage.data_ptr()

    def resizable(self) -> bool:
        """Return whether `resize_` may reallocate the memory; see `UntypedStorage.resizable`."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements; see `UntypedStorage.resize_`."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    @property
    def device(self) -> Device:
        """Device of the memory."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self._untyped_storage.is_cuda

    def get_device(self) -> int:
        """Return the index of the device; -1 if devices have no index."""
        return self._untyped_storage.get_device()

    def is_shared(self) -> bool:
        """Return whether the memory is shared with other processes."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the storage to shared memory; see `UntypedStorage.share_memory_`."""
        self._untyped_storage.share_memory_()
        return self

    def untyped(self) -> UntypedStorage:
        """Return the bytes."""
        _warn()
        return self._untyped_storage

    def cpu(self) -> TypedStorage:
        """Return the storage in host memory."""
        return self._moved(self._untyped_storage.cpu())

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False) -> TypedStorage:
        """Return the storage on a CUDA device."""
        return self._moved(self._untyped_storage.cuda(device))

    def _moved(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype, _internal=True)

    def pickle_storage_type(self) -> str:
        """Return the name of the storage class of the dtype: ``'FloatStorage'``."""
        return self._class_name()

    def _class_name(self) -> str:
        return f"{_NAMES[self.dtype]}Storage"

    _pickle_storage_type = pickle_storage_type

    def _get_legacy_storage_class(self) -> Any:
        """Return the storage class of the dtype: `FloatStorage`."""
        return LEGACY_STORAGES[self._class_name()]

    def __repr__(self) -> str:
        where = (
            f"[dovetail.TypedStorage(dtype={self.dtype}, device={self.device}) of size "
            f"{self._size()}]"
        )
        if self.device.type == "meta":
            return f"...\n{where}"
        return "".join([f" {value}\n" for value in self.tolist()]) + where


def _dtype_of(cls: Any) -> Dtype:
    """Return the dtype of a class such as ``FloatStorage``."""
    wanted: Dtype = cls.dtype
    return wanted


def rebuild_typed_storage(storage: UntypedStorage, wanted: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=wanted, _internal=True)


def typed_storage_of(tensor: Any) -> TypedStorage:
    """Return the storage of `tensor` as elements of its dtype; see `storage_of`, which warns."""
    return rebuild_typed_storage(tensor.untyped_storage(), tensor.dtype)


def storage_of(tensor: Tensor) -> TypedStorage:
    """Return the storage of `tensor` as elements of its dtype; see `Tensor.untyped_storage`."""
    _warn()
    return typed_storage_of(tensor)


TYPED_STORAGE.fill(typed_storage_of)

_NAMES: Final = {
    bool_: "Bool",
    uint8: "Byte",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    bfloat16: "BFloat16",
    float32: "Float",
    float64: "Double",
    complex64: "ComplexFloat",
    complex128: "ComplexDouble",
}


def _legacy_class(wanted: Dtype, name: str) -> Any:
    members = {
        "__slots__": (),
        "__doc__": f"Storages of {wanted.name}; see `TypedStorage`.",
        "__module__": __name__,
        "__new__": _new_typed,
        "dtype": wanted,
    }
    return _StorageMeta(f"{name}Storage", (TypedStorage,), members)


def _new_typed(cls: Any, *args: Any, **kwargs: Any) -> TypedStorage:
    return TypedStorage(*args, **{"dtype": cls.dtype, **kwargs})


LEGACY_STORAGES: Final = {
    f"{name}Storage": _legacy_class(wanted, name) for wanted, name in _NAMES.items()
}
"""``FloatStorage`` and its kin, by name."""


_rebuilt = rebuild_typed_storage  # as pickles of 0.1.0 have it
