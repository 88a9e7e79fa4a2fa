"""The tensors of a file: their records, and the storages that they view."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import storable
from dovetail_kernel import dtype, uint8

from ..nn.parameter import Parameter
from .checked_json import checked_integer
from .element_bytes import bytes_of_line, line_of_bytes
from .placement import Placement
from .safetensors_file import Entry, is_storable
from .tensor_records import StorageRecord, TensorRecord

PICKLE_ENTRY = "__pickle__"
"""The entry of a file with what is pickled."""


class TensorWriter:
    """Numbers the tensors of an object, and collects the storages that they view."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.storages: dict[str, dict[str, Any]] = {}
        self.tensors: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._described: set[int] = set()
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
                "storage": "" if plain.is_meta else self._storage(plain, path),
                "shape": list(plain.shape),
                "stride": list(plain.stride()),
                "offset": 0 if plain.is_meta else plain.storage_offset(),
                "dtype": plain.dtype.name,
                "requires_grad": tensor.requires_grad,
                "parameter": isinstance(tensor, Parameter),
            }
            number = self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(record)
        return number

    def new_attributes(self, tensor: Tensor, number: int) -> dict[str, Any]:
        """Return the attributes that a program gave a tensor; nothing after the first time."""
        if number in self._described:
            return {}
        self._described.add(number)
        return dict(vars(tensor))

    def _storage(self, tensor: Tensor, path: str) -> str:
        storage = tensor.untyped_storage()
        key = storage.place()
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
        data = bytes_of_line(flat.cpu())
        stored = tensor.dtype.name if is_storable(tensor.dtype.name) else "uint8"
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
    """Creates each tensor of a file once, as a view of a storage.

    Parameters
    ----------
    entries : dict
        The arrays of the file, by name.
    storages : dict
        Records of the storages, by name.
    records : list
        Records of the tensors.
    placement : Placement
        Target devices.
    line : callable, default `line_of_bytes`
        Function that converts the bytes of an array to a 1-dimensional tensor.
    """

    def __init__(
        self,
        entries: dict[str, Entry],
        storages: dict[str, StorageRecord],
        records: list[TensorRecord],
        placement: Placement,
        line: Callable[[Any, dtype], Tensor] = line_of_bytes,
    ) -> None:
        self._entries = entries
        self._storages = storages
        self._records = records
        self._placement = placement
        self._line = line
        self._flat: dict[str, Tensor] = {}
        self._made: dict[int, Tensor] = {}

    def tensor(self, number: Any) -> Tensor:
        """Return tensor ``number``; raises FormatError if there is none."""
        checked_integer(number, "the number of a tensor", len(self._records))
        if number not in self._made:
            record = self._records[number]
            if record.storage:
                line = self._storage(record.storage)
            else:  # on the meta device
                line = aten.empty_strided(
                    record.shape, record.stride, dtype=record.dtype, device="meta"
                )
            self._made[number] = shown_tensor(line, record)
        return self._made[number]

    def _storage(self, name: str) -> Tensor:
        if name not in self._flat:
            saved = self._storages[name]
            line = self._line(self._entries[name].data, saved.dtype)
            self._flat[name] = self._placement.moved(line, saved.device)
        return self._flat[name]


def parts_of_sparse(tensor: Any) -> tuple[Tensor, Tensor]:
    """Return the stored indices and values of a sparse COO tensor."""
    return tensor._coordinates, tensor._elements.detach()


def shown_tensor(line: Tensor, record: TensorRecord) -> Tensor:
    """Return the leaf described by a record, a view of `line`."""
    if record.dtype is not line.dtype:
        line = _reinterpreted(line, record.dtype)
    # Past autograd's notion of a view: what is loaded are independent leaves.
    view = line.as_strided(record.shape, record.stride, record.offset)
    tensor: Tensor = view.detach()
    if record.parameter:
        return Parameter(tensor, requires_grad=record.requires_grad)
    if record.requires_grad:
        tensor.requires_grad_()
    return tensor


def _reinterpreted(flat: Tensor, dtype: dtype) -> Tensor:
    """View a whole storage as elements of another dtype, leaving out bytes that make no whole
    element.
    """
    raw = flat.view(uint8)
    whole: Tensor = raw[: raw.numel() // dtype.itemsize * dtype.itemsize]
    return whole.view(dtype)
