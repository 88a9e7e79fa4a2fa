"""Writes files that ``torch.load(weights_only=True)`` reads: a zip archive of a pickle and the
storages.
"""

from __future__ import annotations

import codecs
import io
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any, Final

import dovetail_aten as aten
import dovetail_kernel
from dovetail_aten import Tensor, TypedStorage
from dovetail_kernel import Device, Size, dtype, sparse_coo

from ...nn.parameter import Parameter
from ..stored_tensors import TensorWriter, parts_of_sparse
from .zip_archive import pack_zip

_STORAGES: Final = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
_PLAIN: Final = frozenset(
    [
        bool, int, float, complex, str, bytearray, type(None),
        list, tuple, dict, set, OrderedDict, Counter,
    ]
)  # fmt: skip
_MAKERS: Final = (complex, bytearray, set, OrderedDict, Counter, codecs.encode)
_MOST_BITS: Final = 2000


def pack_torch(obj: object) -> Iterator[memoryview | bytes]:
    """Yield the pieces of a file with `obj`.

    Raises
    ------
    pickle.PicklingError
        If it contains anything but data and plain containers.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(obj)
    records: dict[str, Any] = {
        "data.pkl": stream.getvalue(),
        ".format_version": b"1",
        ".storage_alignment": b"64",
        "byteorder": sys.byteorder.encode(),
    }
    for key, name in enumerate(pickler.tensors.entries):
        records[f"data/{key}"] = pickler.tensors.entries[name].data
    records["version"] = b"3\n"
    return pack_zip({f"archive/{name}": content for name, content in records.items()})


class _Name:
    """A global of PyTorch, which need not be installed."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"{module}\n{name}\n"

    def __call__(self) -> None:
        """Make it something that a pickle may call."""


class _Storage:
    """What stands outside of the pickle."""

    def __init__(self, *identity: Any) -> None:
        self.identity = ("storage", *identity)


_PurePickler: Any = pickle._Pickler  # the one in C imports every global that it is to name


class _Pickler(_PurePickler):  # type: ignore[misc]
    """Pickles tensors and containers under PyTorch's names."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=2)
        self.tensors = TensorWriter()
        self._names: dict[tuple[str, str], _Name] = {}
        self._storages: dict[str, _Storage] = {}

    def save(self, obj: object, save_persistent_id: bool = True) -> None:
        """Write an object; a global of PyTorch by its name."""
        if isinstance(obj, dtype):
            obj = self._name("torch", obj.name)
        if type(obj) is not _Name:
            super().save(obj, save_persistent_id)
        elif id(obj) in self.memo:
            self.write(self.get(self.memo[id(obj)][0]))
        else:
            self.write(pickle.GLOBAL + obj.text.encode())
            self.memoize(obj)

    def persistent_id(self, obj: object) -> Any:
        """Return the identity of a storage, None for everything else."""
        if type(obj) is TypedStorage:
            whole: Any = aten.empty(0, dtype=obj.dtype, device=obj.device)
            record = self.tensors.tensors[self.tensors.index(whole.set_(obj), "")]
            obj = self._storage(record["storage"])
        return obj.identity if type(obj) is _Storage else None

    def reducer_override(self, obj: Any) -> Any:
        """Return how `obj` is made; refuse what is neither data nor a plain container."""
        kind = type(obj)
        if kind is int and obj.bit_length() > _MOST_BITS:
            raise pickle.PicklingError(
                f"can't save an integer of {obj.bit_length()} bits with format='torch', which "
                "torch.load(weights_only=True) does not read. Save it as a string."
            )
        if kind in _PLAIN or any([obj is each for each in _MAKERS]):
            return NotImplemented
        if kind is bytes:  # Python's own way makes empty ones by a global that torch.load refuses
            return codecs.encode, (obj.decode("latin-1"), "latin1")
        if kind is Tensor:
            rebuild, args = self._tensor(obj)
            if not vars(obj):
                return rebuild, args
            state = rebuild, self._name("torch", "Tensor"), args, dict(vars(obj))
            return self._name("torch._tensor", "_rebuild_from_type_v2"), state
        if isinstance(obj, Tensor) and obj.is_sparse:
            return self._name("torch._utils", "_rebuild_sparse_tensor"), (
                sparse_coo,
                (*parts_of_sparse(obj), obj.shape, obj.is_coalesced()),
            )
        if kind is Parameter:
            made = obj.detach(), obj.requires_grad, _no_hooks()
            if not vars(obj):
                return self._name("torch._utils", "_rebuild_parameter"), made
            rebuild = self._name("torch._utils", "_rebuild_parameter_with_state")
            return rebuild, (*made, dict(vars(obj)))
        if isinstance(obj, Device):
            index = () if obj.index is None else (obj.index,)
            return self._name("torch", "device"), (obj.type, *index)
        if kind is Size:
            return self._name("torch", "Size"), (tuple(obj),)
        if obj is sparse_coo:
            return self._name("torch.serialization", "_get_layout"), ("torch.sparse_coo",)
        raise pickle.PicklingError(
            f"can't save a {kind.__module__}.{kind.__qualname__} with format='torch': only "
            "tensors, numbers, strings and plain containers can be read by "
            "torch.load(weights_only=True). Save its state_dict(), or without a format."
        )

    def _name(self, module: str, name: str) -> _Name:
        return self._names.setdefault((module, name), _Name(module, name))

    def _tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        record = self.tensors.tensors[self.tensors.index(tensor, "")]
        name = record["storage"]
        named = self._name("torch", record["dtype"])
        if not name:
            layout = tuple(record["shape"]), tuple(record["stride"]), record["requires_grad"]
            return self._name("torch._utils", "_rebuild_meta_tensor_no_storage"), (named, *layout)
        args = (
            self._storage(name),
            record["offset"],
            tuple(record["shape"]),
            tuple(record["stride"]),
            record["requires_grad"],
            _no_hooks(),
        )
        saved = self.tensors.storages[name]["dtype"]
        if record["dtype"] == saved and saved in _STORAGES:
            return self._name("torch._utils", "_rebuild_tensor_v2"), args
        return self._name("torch._utils", "_rebuild_tensor_v3"), (*args, named)

    def _storage(self, name: str) -> _Storage:
        found = self._storages.get(name)
        if found is None:
            saved = self.tensors.storages[name]
            size = memoryview(self.tensors.entries[name].data).nbytes
            if saved["dtype"] in _STORAGES:
                kind = self._name("torch", _STORAGES[saved["dtype"]])
                size //= getattr(dovetail_kernel, saved["dtype"]).itemsize
            else:
                kind = self._name("torch.storage", "UntypedStorage")
            key = str(len(self._storages))
            found = self._storages[name] = _Storage(kind, key, saved["device"], size)
        return found


def _no_hooks() -> OrderedDict[int, Any]:
    """Return what PyTorch has in place of hooks, which are not saved."""
    return OrderedDict()
