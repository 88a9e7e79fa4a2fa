"""`save` and `load`: tensors and the containers around them in one safetensors file; loading runs
no code.

Every storage is one array of the file, so that views and shared tensors are preserved. The
containers are JSON in the file's metadata. Other Python objects are pickled at save, and read only
with ``weights_only=False``.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Iterator
from typing import IO, Any, TypeAlias

from dovetail_kernel import warn_user

from .byte_sources import ByteSource, MappedSource
from .checked_json import (
    FormatError,
    checked_dict,
    checked_list,
    checked_text,
    parse_json,
    printable,
    shown,
)
from .element_bytes import line_of_bytes, line_of_mapped
from .file_replacement import write_file, write_pieces
from .pickled_objects import pickle_objects, unpickle_objects
from .placement import MapLocation, Placement
from .safe_globals import get_safe_globals
from .safetensors_file import Entry, pack, read_start, unpack
from .settings import checked_format, get_default_save_format, settings
from .stored_tensors import PICKLE_ENTRY, TensorReader, TensorWriter
from .structure import Decoder, Encoder
from .tensor_dicts import plain_tensors
from .tensor_records import storage_records, tensor_records
from .torch_format.torch_files import LoadOptions, is_legacy, is_zip, load_legacy, load_zip
from .torch_format.torch_globals import TorchGlobals
from .torch_format.torch_writer import pack_torch

FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_FORMAT = "1"


def save(
    obj: object,
    f: FileLike,
    pickle_module: object = None,
    pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: str | None = None,
) -> None:
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
    pickle_module, pickle_protocol : optional
        As in PyTorch's programs; the module must be `pickle`, the protocol one that it has, and
        neither changes what is written.
    _use_new_zipfile_serialization : bool, default True
        As in PyTorch's programs, where False asks for the format before zip archives; `format`
        alone says what is written.
    format : str, optional
        "torch" writes what ``torch.load(weights_only=True)`` reads: tensors, numbers, strings,
        bytes, None, list, tuple, dict, set, OrderedDict, Counter, dtypes, devices and sizes, with
        shared storages kept shared. Default: "safetensors", or what
        ``serialization.set_default_save_format`` set. Under ``dovetail run`` it is "torch"; an
        object that PyTorch's format cannot hold is written as safetensors then, with a warning.

    Raises
    ------
    ValueError
        For another format, module or protocol.
    OSError
        If the file can't be written: a file that is read-only, or a folder in which nothing can be
        created.
    pickle.PicklingError, TypeError, AttributeError
        If something in ``obj`` can't be pickled; the file is not touched.
    """
    chosen = get_default_save_format() if format is None else checked_format(format)
    _check_pickle(pickle_module, pickle_protocol)
    pieces = _described(obj) if chosen == "safetensors" else _torch_pieces(obj, format is None)
    if isinstance(f, (str, os.PathLike)):
        write_file(os.fsdecode(f), pieces)
    else:
        write_pieces(f, pieces)


def _torch_pieces(obj: object, is_default: bool) -> Iterator[memoryview | bytes]:
    """Return the pieces of a file of PyTorch's format. If that is the default and cannot hold
    `obj`, warn, and return those of a safetensors file.
    """
    try:
        return pack_torch(obj)
    except pickle.PicklingError as error:
        if not is_default:
            raise
        warn_user(f"dovetail.load reads this file, and torch.load does not: {error}", UserWarning)
    return _described(obj)


def _described(obj: object) -> Iterator[memoryview | bytes]:
    """Return the pieces of a safetensors file with `obj`."""
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
    return pack(tensors.entries, metadata)


def _check_pickle(module: object, protocol: int | None = None) -> None:
    if module is not None and getattr(module, "__name__", None) not in ("pickle", "cPickle"):
        raise ValueError(
            f"pickle_module should be pickle, not {module!r:.60}. Leave it out: `load` has an "
            "unpickler of its own, and objects that need another one are saved by that."
        )
    if protocol is not None and protocol not in range(pickle.HIGHEST_PROTOCOL + 1):
        raise ValueError(f"pickle_protocol should be at most {pickle.HIGHEST_PROTOCOL}")


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Load what `save` or ``torch.save`` wrote, or the tensors of any other safetensors file (as a
    dict by name).

    Parameters
    ----------
    f : path or binary file object
        Where from.
    map_location : optional
        Where to: None for the device a tensor was saved from; a device or its name for all; a
        mapping of saved to new device names; or a function ``(storage, name)`` that returns a
        storage on the right device, or None.
    pickle_module : optional
        As in PyTorch's programs; it must be `pickle`.
    weights_only : bool, default True
        Refuse pickled objects, but those of classes that `add_safe_globals` was told of in files of
        ``torch.save``. False runs the code they name: only for files from a source you trust.
    mmap : bool, default that of `dovetail.utils.serialization.config.load`, False
        Map the file into memory, so that elements are read when they are used. What is written to
        the tensors stays in this process. `f` must be a path.
    encoding : str, default "utf-8"
        Of the strings of Python 2 in files of ``torch.save``; "bytes" leaves them as they are.

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
    ValueError
        For ``mmap=True`` without a path, and for another `pickle_module`.
    OSError
        If the file can't be read.
    Exception
        With ``weights_only=False``, what the code of the pickled objects raises.
    """
    _check_pickle(pickle_module)
    trusted = weights_only is False
    mmap = settings().mmap if mmap is None else mmap
    placement = Placement(map_location)
    if isinstance(f, (str, os.PathLike)):
        options = LoadOptions(repr(os.fspath(f)), placement, not trusted, encoding)
        with open(f, "rb") as stream:
            return _load(stream, options, is_path=True, is_mapped=bool(mmap))
    if mmap:
        raise ValueError(
            "f must be a file path in order to use the mmap argument, not "
            f"{type(f).__name__}. Give the path, or leave out mmap."
        )
    name = repr(getattr(f, "name", type(f).__name__))
    return _load(f, LoadOptions(name, placement, not trusted, encoding))


def _load(
    stream: IO[bytes], options: LoadOptions, is_path: bool = False, is_mapped: bool = False
) -> Any:
    try:
        start = read_start(stream)
        if is_zip(start):
            whole = stream if is_path else io.BytesIO(start + stream.read())
            return load_zip(MappedSource(whole) if is_mapped else ByteSource(whole), options)
        if is_legacy(start):
            if is_mapped:
                raise FormatError("it is of the format before zip archives, which has no mmap")
            return _legacy(start, stream, options)
        source = None
        if is_mapped and start:
            source = MappedSource(stream)
            stream.seek(len(start))
        entries, metadata = unpack(start, stream, source)
        if "dovetail" not in metadata:
            return plain_tensors(entries, options.placement, _lines(is_mapped))
        return _described_object(entries, metadata, options, is_mapped)
    except FormatError as error:
        problem = printable(str(error))
        raise RuntimeError(f"can't load {options.file}: {problem}. {error.remedy}") from error
    except RecursionError as error:
        problem = "its containers are nested too deeply"
        raise RuntimeError(f"can't load {options.file}: {problem}. {FormatError.remedy}") from error


def _legacy(start: bytes, stream: IO[bytes], options: LoadOptions) -> Any:
    """Load one object; a stream that can seek is left behind it, where the next one may begin."""
    whole = io.BytesIO(start + stream.read())
    result = load_legacy(whole, options)
    rest = len(whole.getbuffer()) - whole.tell()
    if rest and getattr(stream, "seekable", bool)():
        stream.seek(-rest, os.SEEK_CUR)
    return result


def _described_object(
    entries: dict[str, Entry], metadata: dict[str, str], options: LoadOptions, is_mapped: bool
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
    if types and options.weights_only and not get_safe_globals():
        raise pickle.UnpicklingError(
            f"Weights only load failed: {options.file} contains pickled objects of type "
            f"{', '.join(types)}. Loading them can run any code. If you trust these classes, name "
            "them with dovetail.serialization.add_safe_globals; if you trust the file, pass "
            "weights_only=False. Or save only tensors and plain containers, such as "
            "model.state_dict()."
        )
    reader = TensorReader(entries, storages, records, options.placement, _lines(is_mapped))
    others = []
    if types:
        pickled = entries[PICKLE_ENTRY]
        size = len(pickled.data)
        allowed = TorchGlobals(options.file, size) if options.weights_only else None
        others = unpickle_objects(pickled, reader, allowed)
    return Decoder(reader.tensor, others).decode(description["root"])


def _lines(is_mapped: bool) -> Any:
    return line_of_mapped if is_mapped else line_of_bytes
