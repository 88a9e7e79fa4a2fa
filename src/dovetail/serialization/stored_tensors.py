"""The tensors of a file: what is stored of each, and the storages that they view."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np

import dovetail_aten as aten
import dovetail_kernel
from dovetail_aten import Tensor, storable
from dovetail_kernel import Device, dtype, uint8

from ..nn.parameter import Parameter
from .checked_json import FormatError, checked_integer, shown
from .safetensors_file import Entry, is_storable
from .tensor_records import StorageRecord, TensorRecord

__all__ = ["PICKLE_ENTRY", "MapLocation", "TensorReader", "TensorWriter"]

MapLocation: TypeAlias = str | Device | Mapping[str, Any] | Callable[[Any, str], Any] | None

PICKLE_ENTRY = "__pickle__"
"""The entry of a file with what is pickled."""

_NUMPY_DTYPES = frozenset(
    [
        "bool",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "uint32",
        "int32",
        "uint64",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
# Integers that stand for elements NumPy itself has no type for (bfloat16, 8-bit floats): the bytes
# are the same.
_CARRIERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


class DeviceError(FormatError):
    """The device that a tensor was saved from is not there."""

    remedy = "Pass map_location='cpu', or where else it should be, to dovetail.load."


class TensorWriter:
    """Numbers the tensors of an object, and collects the storages that they view."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.storages: dict[str, dict[str, Any]] = {}
        self.tensors: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._names: dict[Any, str] = {}
        self._repeated: Counter[str] = Counter()
        self._alive: list[Tensor] = []

    def index(self, tensor: Tensor, path: str) -> int:
        """Return the number of ``tensor``; a new one's storage is stored under a name made from
        ``path``.
        """
        number = self._numbers.get(id(tensor))
        if number is None:
            plain = storable(tensor.detach())
            self._alive += [tensor, plain]
            record = {
                "storage": self._storage(plain, path),
                "shape": list(plain.shape),
                "stride": list(plain.stride()),
                "offset": plain.storage_offset(),
                "dtype": plain.dtype.name,
                "requires_grad": tensor.requires_grad,
                "parameter": isinstance(tensor, Parameter),
            }
            number = self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(record)
        return number

    def _storage(self, tensor: Tensor, path: str) -> str:
        if tensor.is_meta:
            raise pickle.PicklingError(
                f"can't save {path or 'the tensor'}: a meta tensor has no data. Use "
                "to_empty(device='cpu') first."
            )
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), storage.nbytes(), str(tensor.device))
        if storage.nbytes() and key in self._names:
            return self._names[key]
        if storage.nbytes() % tensor.dtype.itemsize:
            raise pickle.PicklingError(
                f"can't save {path or 'the tensor'}: the {storage.nbytes()} bytes of its storage "
                "are no whole number "
                f"of {tensor.dtype.name} elements. Save a copy of it: tensor.clone()."
            )
        name = self._names[key] = self._free_name(path or "tensor")
        count = storage.nbytes() // tensor.dtype.itemsize
        whole = tensor.is_contiguous() and tensor.numel() == count
        flat = tensor.reshape(-1) if whole else tensor.as_strided((count,), (1,), 0)
        shape = tuple(tensor.shape) if whole else (count,)
        stored, data = _to_bytes(flat.cpu())
        shape = shape if stored == tensor.dtype.name else (len(data),)
        self.entries[name] = Entry(stored, shape, data)
        self.storages[name] = {"dtype": tensor.dtype.name, "device": str(tensor.device)}
        return name

    def _free_name(self, name: str) -> str:
        """Return `name`, with a number behind it where it is taken."""
        free = name
        while free in self.entries or free in ("__metadata__", PICKLE_ENTRY):
            self._repeated[name] += 1
            free = f"{name}_{self._repeated[name]}"
        return free


class TensorReader:
    """Makes the tensors of a file, each once, as views of its storages.

    Parameters
    ----------
    entries : dict
        The arrays of the file, by name.
    storages : dict
        What each storage is, by name.
    records : list
        What each tensor is.
    map_location : optional
        As in `load`.
    """

    def __init__(
        self,
        entries: dict[str, Entry],
        storages: dict[str, StorageRecord],
        records: list[TensorRecord],
        map_location: MapLocation,
    ) -> None:
        self._entries = entries
        self._storages = storages
        self._records = records
        self._map_location = map_location
        self._flat: dict[str, Tensor] = {}
        self._made: dict[int, Tensor] = {}

    def tensor(self, number: Any) -> Tensor:
        """Return tensor ``number``; raises FormatError if there is none."""
        checked_integer(number, "the number of a tensor", len(self._records))
        if number not in self._made:
            self._made[number] = self._make(self._records[number])
        return self._made[number]

    def _make(self, record: TensorRecord) -> Tensor:
        flat = self._storage(record.storage)
        if record.dtype is not flat.dtype:
            flat = _reinterpreted(flat, record.dtype)
        # Past autograd's notion of a view: what is loaded are independent leaves.
        view = flat.as_strided(record.shape, record.stride, record.offset)
        tensor: Tensor = view.detach()
        if record.parameter:
            return Parameter(tensor, requires_grad=record.requires_grad)
        if record.requires_grad:
            tensor.requires_grad_()
        return tensor

    def _storage(self, name: str) -> Tensor:
        if name not in self._flat:
            saved = self._storages[name]
            self._flat[name] = self._moved(_from_bytes(self._entries[name], saved.dtype), saved)
        return self._flat[name]

    def _moved(self, tensor: Tensor, saved: StorageRecord) -> Tensor:
        """Return the tensor on the device on which it is wanted."""
        wanted = self._wanted(tensor, saved.device)
        if wanted is not None:
            return cast(Tensor, tensor.to(wanted))
        try:
            return cast(Tensor, tensor.to(Device(saved.device)))
        except (RuntimeError, AssertionError) as error:
            raise DeviceError(
                f"a tensor was saved from the device {shown(saved.device)}, which can't be had "
                f"here ({error})"
            ) from error

    def _wanted(self, tensor: Tensor, saved: str) -> Device | None:
        """Return the device that the caller wants; None for the one it was saved from."""
        where = self._map_location
        if isinstance(where, Mapping):
            where = where.get(saved)
        elif callable(where) and not isinstance(where, Device):
            result = where(tensor.untyped_storage(), saved)
            where = None if result is None else result.device
        return None if where is None else Device(where)


def _reinterpreted(flat: Tensor, dtype: dtype) -> Tensor:
    """View a whole storage as elements of another dtype, leaving out bytes that make no whole
    element.
    """
    raw = flat.view(uint8)
    whole: Tensor = raw[: raw.numel() // dtype.itemsize * dtype.itemsize]
    return whole.view(dtype)


def _to_bytes(flat: Tensor) -> tuple[str, memoryview]:
    """Return the dtype under which a 1-dimensional CPU tensor is stored, and its bytes."""
    name = flat.dtype.name
    carried = (
        flat
        if name in _NUMPY_DTYPES
        else flat.view(getattr(dovetail_kernel, _CARRIERS[flat.dtype.itemsize]))
    )
    data = np.ascontiguousarray(carried.numpy()).view(np.uint8).data
    return (name if is_storable(name) else "uint8"), data


def _from_bytes(entry: Entry, dtype: dtype) -> Tensor:
    """Return a 1-dimensional CPU tensor of this dtype with a copy of the entry's bytes."""
    name = dtype.name
    native = name in _NUMPY_DTYPES
    array = np.frombuffer(entry.data, dtype=name if native else _CARRIERS[dtype.itemsize]).copy()
    if name == "bool" and array.size and array.view(np.uint8).max() > 1:
        raise FormatError("an array of bools has bytes that are neither 0 nor 1")
    tensor = aten.from_numpy(array)
    return tensor if native else tensor.view(dtype)
