"""The tensors of a file: what is stored of each, and the storages that they view."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

import dovetail_aten as aten
import dovetail_kernel
from dovetail_aten import Tensor, storable
from dovetail_kernel import Device, dtype, uint8

from ..nn.parameter import Parameter
from .safetensors_file import Entry, FormatError, is_storable

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


class TensorWriter:
    """Numbers the tensors of an object, and collects the storages that they view."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.storages: dict[str, dict[str, Any]] = {}
        self.tensors: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._names: dict[Any, str] = {}
        self._alive: list[Tensor] = []

    def index(self, tensor: Tensor, path: str) -> int:
        """Return the number of ``tensor``; a new one's storage is stored under a name made from
        ``path``.
        """
        number = self._numbers.get(id(tensor))
        if number is None:
            plain = storable(tensor.detach())
            self._alive += [tensor, plain]
            record: dict[str, Any] = {
                "storage": self._storage(plain, path),
                "shape": list(plain.shape),
            }
            record["stride"] = list(plain.stride())
            record["offset"] = plain.storage_offset()
            record["dtype"] = _dtype_name(plain)
            record["requires_grad"] = tensor.requires_grad
            record["parameter"] = isinstance(tensor, Parameter)
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
                f"of {_dtype_name(tensor)} elements. Save a copy of it: tensor.clone()."
            )
        name = path or "tensor"
        while name in self.entries or name in ("__metadata__", PICKLE_ENTRY):
            name += "_"
        self._names[key] = name
        count = storage.nbytes() // tensor.dtype.itemsize
        whole = tensor.is_contiguous() and tensor.numel() == count
        flat = tensor.reshape(-1) if whole else tensor.as_strided((count,), (1,), 0)
        shape = tuple(tensor.shape) if whole else (count,)
        stored, data = _to_bytes(flat.cpu())
        self.entries[name] = Entry(
            stored, shape if stored == _dtype_name(tensor) else (len(data),), data
        )
        self.storages[name] = {"dtype": _dtype_name(tensor), "device": str(tensor.device)}
        return name


class TensorReader:
    """Makes the tensors of a file, each once, as views of its storages."""

    def __init__(
        self,
        entries: dict[str, Entry],
        storages: dict[str, dict[str, Any]],
        tensors: list[dict[str, Any]],
        map_location: MapLocation,
    ) -> None:
        self._entries = entries
        self._storages = storages
        self._records = tensors
        self._map_location = map_location
        self._flat: dict[str, Tensor] = {}
        self._made: dict[int, Tensor] = {}

    def tensor(self, number: int) -> Tensor:
        """Return tensor ``number``."""
        if number not in self._made:
            record = self._records[number]
            flat = self._storage(record["storage"])
            name = record.get("dtype")
            if name is not None and name != _dtype_name(flat):
                flat = _reinterpreted(flat, getattr(dovetail_kernel, name))
            shape, stride, offset = record["shape"], record["stride"], record["offset"]
            if stride is None:
                tensor = flat.view(shape)
            else:
                _check_bounds(flat.numel(), shape, stride, offset)
                tensor = flat.as_strided(shape, stride, offset)
            # Past autograd's notion of a view: what is loaded are independent leaves.
            tensor = tensor.detach()
            if record.get("parameter"):
                tensor = Parameter(tensor, requires_grad=bool(record["requires_grad"]))
            elif record.get("requires_grad"):
                tensor.requires_grad_()
            self._made[number] = tensor
        return self._made[number]

    def _storage(self, name: str) -> Tensor:
        if name not in self._flat:
            entry = self._entries[name]
            saved = self._storages.get(name, {"dtype": entry.dtype, "device": "cpu"})
            flat = _from_bytes(entry, saved["dtype"])
            self._flat[name] = flat.to(self._target(flat, saved["device"]))
        return self._flat[name]

    def _target(self, tensor: Tensor, saved: str) -> Any:
        where = self._map_location
        if where is None:
            return Device(saved)
        if isinstance(where, Mapping):
            return Device(where.get(saved, saved))
        if callable(where) and not isinstance(where, Device):
            result = where(tensor.untyped_storage(), saved)
            return Device(saved) if result is None else Device(result.device)
        return Device(where)


def _reinterpreted(flat: Tensor, dtype: dtype) -> Tensor:
    """View a whole storage as elements of another dtype, leaving out bytes that make no whole
    element.
    """
    raw = flat.view(uint8)
    whole: Tensor = raw[: raw.numel() // dtype.itemsize * dtype.itemsize]
    return whole.view(dtype)


def _check_bounds(count: int, shape: list[int], stride: list[int], offset: int) -> None:
    valid = len(shape) == len(stride) and all(
        type(number) is int and number >= 0 for number in (*shape, *stride, offset)
    )
    if not valid:
        raise FormatError(
            "a tensor's shape, strides or offset are not lists of non-negative integers"
        )
    last = offset + sum((length - 1) * step for length, step in zip(shape, stride, strict=True))
    if 0 not in shape and last >= count:
        raise FormatError(f"a tensor reaches to element {last} of a storage that has {count}")


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _to_bytes(flat: Tensor) -> tuple[str, memoryview]:
    """Return the dtype under which a 1-dimensional CPU tensor is stored, and its bytes."""
    name = _dtype_name(flat)
    carried = (
        flat
        if name in _NUMPY_DTYPES
        else flat.view(getattr(dovetail_kernel, _CARRIERS[flat.dtype.itemsize]))
    )
    data = np.ascontiguousarray(carried.numpy()).view(np.uint8).data
    return (name if is_storable(name) else "uint8"), data


def _from_bytes(entry: Entry, name: str) -> Tensor:
    """Return a 1-dimensional CPU tensor of dtype ``name`` with a copy of the entry's bytes."""
    dtype = getattr(dovetail_kernel, name)
    native = name in _NUMPY_DTYPES
    array = np.frombuffer(entry.data, dtype=name if native else _CARRIERS[dtype.itemsize]).copy()
    tensor = aten.from_numpy(array)
    return tensor if native else tensor.view(dtype)
