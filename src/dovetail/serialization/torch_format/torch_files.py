"""Reads `torch.save` files: zip archives, and the legacy sequences of pickles."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import IO, Any, Final, NamedTuple

import numpy as np

from dovetail_aten import Tensor, TypedStorage, UntypedStorage
from dovetail_kernel import uint8

from ..byte_sources import ByteSource
from ..checked_json import FormatError, shown
from ..element_bytes import line_of_array
from ..placement import Placement
from ..settings import byte_order_of_old_files
from .restricted_pickles import corrupt, unpickle
from .torch_globals import TorchGlobals, global_named
from .zip_archive import ZipArchive

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_CLASSES: Final = (UntypedStorage, *TypedStorage.__subclasses__())
_ORDERS: Final = ("little", "big")


class LoadOptions(NamedTuple):
    """Options of a call of `load`, and the name of the file for errors."""

    file: str
    placement: Placement
    weights_only: bool
    encoding: str


class StorageId(NamedTuple):
    """What a pickle says of a storage: its class, key and device, and its number of elements."""

    kind: Any
    key: Any
    location: Any
    size: Any
    view: Any

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return int(self.size * self.dtype.itemsize)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements; of bytes, where the storage has none."""
        return uint8 if self.kind is UntypedStorage else self.kind.dtype


def is_zip(start: bytes) -> bool:
    """Return whether a file begins as a zip archive."""
    return start[:4] in (b"PK\3\4", b"PK\5\6")


def is_legacy(start: bytes) -> bool:
    """Return whether a file begins with the pickled magic number."""
    return start[:1] == b"\x80" and start[2:8] == b"\x8a\x0al\xfc\x9cF"


def load_zip(source: ByteSource, options: LoadOptions) -> Any:
    """Return the object of an archive.

    Raises
    ------
    FormatError
        If it is not a `torch.save` archive.
    pickle.UnpicklingError
        If it refers to a global that is not allowed.
    """
    archive = ZipArchive(source)
    if "data.pkl" not in archive:
        raise FormatError("it is a zip archive without data.pkl, so it is not from torch.save")
    order = archive.read("byteorder").tobytes().decode("latin-1") if "byteorder" in archive else ""
    if order not in ("", *_ORDERS):
        raise FormatError(f"its byteorder is {shown(order)}, neither 'little' nor 'big'")

    def stored(wanted: StorageId) -> Tensor:
        # A checksum would read all of a file that is mapped.
        data = archive.read(f"data/{wanted.key}", checked=not source.is_mapped)
        if len(data) != wanted.nbytes:
            raise corrupt(f"storage {shown(wanted.key)} has {len(data)} bytes in the file")
        line = line_of_array(data, wanted.dtype, order or byte_order_of_old_files())
        return options.placement.moved(line, wanted.location)

    content = io.BytesIO(archive.read("data.pkl").tobytes())
    return _unpickled(content, options, Storages(stored).persistent_load)


def load_legacy(stream: IO[bytes], options: LoadOptions) -> Any:
    """Return the object of a sequence of pickles, and leave the stream at its end.

    Raises the errors of `load_zip`.
    """
    described = TorchGlobals(options.file, _rest(stream))
    if unpickle(stream, described, _no_storage) != _MAGIC:
        raise FormatError("it does not begin with the magic number of torch.save")
    if unpickle(stream, described, _no_storage) != _PROTOCOL:
        raise FormatError("it is of another protocol than 1001")
    system = unpickle(stream, described, _no_storage)
    if type(system) is not dict or type(system.get("little_endian")) is not bool:
        raise corrupt("it does not say in which order bytes are")
    order = _ORDERS[not system["little_endian"]]
    # The storages come behind the object, and only the object says how large each of them is.
    place = stream.tell()
    named = _NamedStorages()
    unpickle(stream, _Inert(), named.persistent_load, options.encoding)
    keys = unpickle(stream, described, _no_storage)
    if type(keys) is not list or sorted(map(str, keys)) != sorted(named.ids):
        raise corrupt("the list of its storages is not that of its tensors")
    contents = {key: _content(stream, named.ids[key], order) for key in keys}
    end = stream.tell()

    def stored(wanted: StorageId) -> Tensor:
        line = line_of_array(contents[wanted.key], wanted.dtype, order)
        return options.placement.moved(line, wanted.location)

    stream.seek(place)
    result = _unpickled(stream, options, Storages(stored).persistent_load)
    stream.seek(end)
    return result


def _content(stream: IO[bytes], wanted: StorageId, order: Any) -> Any:
    """Read the bytes of a storage."""
    count = int.from_bytes(stream.read(8), order)
    if count != wanted.size:
        raise corrupt(f"storage {shown(wanted.key)} has {count} elements, not {wanted.size}")
    data = bytearray(stream.read(wanted.nbytes))
    if len(data) < wanted.nbytes:
        raise FormatError(f"it is truncated: it ends in storage {shown(wanted.key)}")
    return np.frombuffer(data, dtype=np.uint8)


class Storages:
    """Makes each storage of a file once; tensors show parts of it.

    Parameters
    ----------
    stored : callable
        Returns the line of all elements of a storage.
    """

    def __init__(self, stored: Callable[[StorageId], Tensor]) -> None:
        self._stored = stored
        self._made: dict[str, Any] = {}

    def persistent_load(self, identity: object) -> Any:
        """Return the storage that a persistent id describes, as elements of its dtype."""
        wanted = _storage_id(identity)
        if wanted.key not in self._made:
            self._made[wanted.key] = self._stored(wanted).untyped_storage()
        storage: Any = self._made[wanted.key]
        if wanted.nbytes != storage.nbytes():
            raise corrupt(f"storage {shown(wanted.key)} has two sizes")
        if wanted.view is not None:
            _, offset, size = wanted.view
            step = wanted.dtype.itemsize
            if (offset + size) * step > storage.nbytes():
                raise corrupt(f"a view of storage {shown(wanted.key)} reaches beyond its end")
            storage = storage[offset * step : (offset + size) * step]
        if wanted.kind is UntypedStorage:
            return storage
        return TypedStorage(wrap_storage=storage, dtype=wanted.dtype, _internal=True)


class _NamedStorages:
    """Notes the storages that a pickle names, without their bytes."""

    def __init__(self) -> None:
        self.ids: dict[str, StorageId] = {}

    def persistent_load(self, identity: object) -> Any:
        """Note the storage of a persistent id."""
        wanted = _storage_id(identity)
        known = self.ids.setdefault(wanted.key, wanted)
        if known.nbytes != wanted.nbytes:
            raise corrupt(f"storage {shown(wanted.key)} has two sizes")
        return None


class _Inert:
    """Globals that do nothing, and the objects that they make."""

    def find(self, module: str, name: str) -> Any:
        """Return a class of storages, which say their dtype, or nothing of use."""
        found = global_named(module, name) if name.endswith("Storage") else None
        return self if found is None else found

    def call(self, function: Callable[..., object], args: tuple[object, ...]) -> Any:
        """Return a new object of no use."""
        return _Inert()

    new = call

    def build(self, obj: object, state: object) -> None:
        """Do nothing."""

    def is_trusted(self, obj: object) -> bool:
        """Return whether `obj` is one of these."""
        return type(obj) is _Inert

    def extend(self, items: object) -> None:
        """Do nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        """Do nothing."""


def _storage_id(identity: object) -> StorageId:
    """Return a persistent id, checked; of Python 2, with ``encoding="bytes"``, of bytes."""
    if type(identity) is tuple:
        decode = partial(bytes.decode, encoding="ascii", errors="replace")
        identity = tuple([decode(each) if type(each) is bytes else each for each in identity])
    if type(identity) is not tuple or len(identity) not in (5, 6) or identity[0] != "storage":
        raise corrupt("something else than a storage is outside of it")
    found = StorageId(*identity[1:], *([None] if len(identity) == 5 else []))
    if not any([found.kind is each for each in _CLASSES]):
        raise corrupt("a storage has no class")
    if type(found.key) is not str or type(found.location) is not str or len(found.location) > 64:
        raise corrupt("the key or the device of a storage is no short string")
    if type(found.size) is not int or not 0 <= found.size < 2**60:
        raise corrupt("the size of a storage is no non-negative integer")
    if found.view is not None and not (
        type(found.view) is tuple
        and len(found.view) == 3
        and all([type(each) is int and 0 <= each < 2**60 for each in found.view[1:]])
    ):
        raise corrupt("a view of a storage is not described by its place")
    return found


def _no_storage(identity: object) -> Any:
    raise corrupt("there is a storage outside of the object")


def _unpickled(stream: IO[bytes], options: LoadOptions, load: Callable[..., object]) -> Any:
    if options.weights_only:
        allowed = TorchGlobals(options.file, _rest(stream))
        return unpickle(stream, allowed, load, options.encoding)
    try:
        return _TrustingUnpickler(stream, load, options.encoding).load()
    except (pickle.UnpicklingError, EOFError) as error:
        raise corrupt(f"{error}") from error


def _rest(stream: IO[bytes]) -> int:
    """Return the number of bytes from where `stream` stands."""
    start = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(start)
    return end - start


class _TrustingUnpickler(pickle.Unpickler):
    """Runs what a pickle names; what it names of PyTorch is looked for here."""

    def __init__(self, stream: IO[bytes], load: Callable[..., object], encoding: str) -> None:
        super().__init__(stream, encoding=encoding)
        self._load = load

    def persistent_load(self, pid: object) -> Any:
        return self._load(pid)

    def find_class(self, module: str, name: str) -> Any:
        found = global_named(module, name)
        if found is not None:
            return found
        root, _, rest = module.partition(".")
        if root != "torch":
            return super().find_class(module, name)
        try:
            place = import_module(f"dovetail.{rest}" if rest else "dovetail")
            for part in name.split("."):
                place = getattr(place, part)
        except (ImportError, AttributeError) as error:
            raise AttributeError(
                f"the file names torch{'.' if rest else ''}{rest}.{name}, which is not in Dovetail "
                f"({error}). Save the state_dict() in PyTorch instead of the object."
            ) from error
        return place
