"""`save` and `load`: tensors and the containers around them in one safetensors file; loading runs
no code.

Every storage is one array of the file, so that views and shared tensors stay so. The containers are
JSON in the file's metadata. Other Python objects are pickled at save, and read only with
``weights_only=False``.
"""

from __future__ import annotations

import json
import os
import pickle
from typing import IO, Any, TypeAlias

from dovetail_aten import Tensor

from .checked_json import (
    FormatError,
    checked_dict,
    checked_list,
    checked_text,
    parse_json,
    shown,
)
from .file_replacement import write_file, write_pieces
from .pickled_objects import pickle_objects, unpickle_objects
from .safetensors_file import Entry, pack, unpack
from .stored_tensors import PICKLE_ENTRY, MapLocation, TensorReader, TensorWriter
from .structure import Decoder, Encoder
from .tensor_records import (
    StorageRecord,
    TensorRecord,
    contiguous_stride,
    dtype_named,
    storage_records,
    tensor_records,
)

__all__ = ["load", "save"]

FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_FORMAT = "1"


def save(obj: Any, f: FileLike) -> None:
    """Save an object to a file.

    Tensors (with dtype, device, strides, ``requires_grad``, sharing of memory and of identity),
    parameters, dict, list, tuple, set, OrderedDict, Counter, numbers, strings, bytes, None, dtypes,
    devices and sizes are stored as data. Anything else in it is pickled. A tensor that is not a
    leaf is saved as a leaf.

    Parameters
    ----------
    obj : object
        What to save.
    f : path or binary file object
        At a path the file is there whole, or as it was before, even if the process is killed; its
        mode and owner stay. Devices, pipes and files with several names (hard links) are written in
        place, and so are files of another owner, where they can't be replaced by one of the same.

        A save that is killed leaves a file ``.dovetail-save-*.tmp``. The next save into the folder
        removes it, if no living process has it locked.

    Raises
    ------
    OSError
        If the file can't be written: a file that is read-only, or a folder in which nothing can be
        created.
    pickle.PicklingError, TypeError, AttributeError
        If something in ``obj`` can't be pickled; the file is not touched.
    """
    tensors = TensorWriter()
    encoder = Encoder(tensors.index)
    root = encoder.encode(obj)
    if encoder.others:
        tensors.entries[PICKLE_ENTRY] = pickle_objects(encoder.others, tensors)
    description = {
        "root": root,
        "tensors": tensors.tensors,
        "storages": tensors.storages,
        "types": encoder.other_types,
    }
    metadata = {
        "dovetail_format": _FORMAT,
        "dovetail": json.dumps(description, separators=(",", ":"), allow_nan=False),
    }
    pieces = pack(tensors.entries, metadata)
    if isinstance(f, (str, os.PathLike)):
        write_file(os.fsdecode(f), pieces)
    else:
        write_pieces(f, pieces)


def load(f: FileLike, map_location: MapLocation = None, *, weights_only: bool = True) -> Any:
    """Load what `save` wrote, or the tensors of any other safetensors file (as a dict by name).

    Parameters
    ----------
    f : path or binary file object
        Where from.
    map_location : optional
        Where to: None for the device a tensor was saved from; a device or its name for all; a
        mapping of saved to new device names; or a function ``(storage, name)`` that returns a
        storage on the right device, or None.
    weights_only : bool, default True
        Refuse pickled objects. False runs the code they name: only for files from a source you
        trust.

    Returns
    -------
    object
        Equal to what was saved.

    Raises
    ------
    RuntimeError
        "can't load", if the file is truncated, corrupt or something else, or if a device that it
        needs is not there; the message says what is wrong. Whatever the bytes are, nothing else is
        raised for them, and the memory used is a small multiple of their number.
    pickle.UnpicklingError
        "Weights only load failed", if the file has pickled objects and ``weights_only``.
    OSError
        If the file can't be read.
    Exception
        With ``weights_only=False``, what the code of the pickled objects raises.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return _load(stream, repr(os.fspath(f)), map_location, weights_only)
    return _load(f, repr(getattr(f, "name", type(f).__name__)), map_location, weights_only)


def _load(stream: IO[bytes], name: str, map_location: MapLocation, weights_only: bool) -> Any:
    try:
        entries, metadata = unpack(stream)
        if "dovetail" not in metadata:
            return _plain_tensors(entries, map_location)
        return _described_object(entries, metadata, name, map_location, weights_only)
    except FormatError as error:
        raise RuntimeError(f"can't load {name}: {error}. {error.remedy}") from error
    except RecursionError as error:
        problem = "its containers are nested too deeply"
        raise RuntimeError(f"can't load {name}: {problem}. {FormatError.remedy}") from error


def _plain_tensors(entries: dict[str, Entry], map_location: MapLocation) -> dict[str, Tensor]:
    """Return the tensors of another program's file."""
    storages: dict[str, StorageRecord] = {}
    records: list[TensorRecord] = []
    for name, entry in entries.items():
        kind = dtype_named(entry.dtype, f"the data type of {name!r}")
        storages[name] = StorageRecord(kind, "cpu")
        records.append(TensorRecord(name, kind, entry.shape, contiguous_stride(entry.shape), 0))
    reader = TensorReader(entries, storages, records, map_location)
    return {name: reader.tensor(number) for number, name in enumerate(entries)}


def _described_object(
    entries: dict[str, Entry],
    metadata: dict[str, str],
    name: str,
    map_location: MapLocation,
    weights_only: bool,
) -> Any:
    """Return what `save` wrote."""
    if metadata.get("dovetail_format") != _FORMAT:
        raise FormatError(
            f"it was written in format {shown(metadata.get('dovetail_format'))}, this version "
            f"reads {_FORMAT}"
        )
    description = checked_dict(
        parse_json(metadata["dovetail"], "its description"),
        "its description",
        ("root", "tensors", "storages", "types"),
    )
    types = [
        checked_text(one, "the type of a pickled object")
        for one in checked_list(description["types"], "the list of pickled types")
    ]
    sizes = {entry: len(array.data) for entry, array in entries.items() if entry != PICKLE_ENTRY}
    storages = storage_records(description["storages"], sizes)
    if set(storages) != set(sizes) or (PICKLE_ENTRY in entries) != bool(types):
        raise FormatError("its description is not about the arrays that it has")
    records = tensor_records(description["tensors"], sizes)
    if types and weights_only:
        raise pickle.UnpicklingError(
            f"Weights only load failed: {name} contains pickled objects of type "
            f"{', '.join(types)}. "
            "Loading them can run any code. If you trust the file, pass weights_only=False; "
            "otherwise save only tensors and plain containers, such as model.state_dict()."
        )
    reader = TensorReader(entries, storages, records, map_location)
    others = unpickle_objects(entries[PICKLE_ENTRY], reader) if types else []
    return Decoder(reader.tensor, others).decode(description["root"])
