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

from dovetail_kernel import printable, warn_user

from .._files import write_file, write_pieces
from .byte_sources import ByteSource, MappedSource
from .checked_json import FormatError, checked_dict, checked_list, checked_text, parse_json, shown
from .element_bytes import line_of_bytes, line_of_mapped
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
    devices and sizes are stored as data. Other objects are pickled. A tensor that is not a leaf is
    saved as a leaf.

    Parameters
    ----------
    obj : object
        What to save.
    f : path or binary file object
        A file at a path is replaced atomically, even if the process is killed, and keeps its mode
        and owner. Devices, pipes, files with hard links, and files whose owner cannot be preserved
        are written in place. A killed save leaves a file ``.dovetail-save-*.tmp``, which the next
        save into the folder removes if it is not locked.
    pickle_module, pickle_protocol : optional
        Accepted for compatibility; the module must be `pickle`, and the protocol must be valid.
        They do not change the file.
    _use_new_zipfile_serialization : bool, default True
        Accepted and ignored; only `format` determines the format.
    format : str, optional
        "torch" writes a file for ``torch.load(weights_only=True)``: tensors, numbers, strings,
        bytes, None, list, tuple, dict, set, OrderedDict, Counter, dtypes, devices and sizes, with
        shared storages kept shared. Default: "safetensors", or the value set by
        ``serialization.set_default_save_format``. Under ``dovetail run``, it is "torch"; an object
        that PyTorch's format does not support is then written as safetensors, with a warning.

    Raises
    ------
    ValueError
        For any other format, module or protocol.
    OSError
        If the file cannot be written, because the file or the folder is read-only.
    pickle.PicklingError, TypeError, AttributeError
        If ``obj`` contains an object that cannot be pickled; the file is then unchanged.
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
    encoder = Encoder(tensors)
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
    """Load a file of `save` or ``torch.save``, or the tensors of any other safetensors file (as a
    dict by name).

    Parameters
    ----------
    f : path or binary file object
        Where from.
    map_location : optional
        Target devices: None means the device from which a tensor was saved; or a device or its name
        for all; a mapping of saved to new device names; or a function ``(storage, name)`` that
        returns a storage on the right device, or None.
    pickle_module : optional
        Accepted for compatibility; must be `pickle`.
    weights_only : bool, default True
        Raise an error for pickled objects, except for classes allowed by `add_safe_globals` in
        ``torch.save`` files. False runs code from the file: use it only for files from a trusted
        source. The environment can force True (``TORCH_FORCE_WEIGHTS_ONLY_LOAD=1``), and False
        where the argument is left out (``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1``).
    mmap : bool, default that of `dovetail.utils.serialization.config.load`, False
        Map the file into memory, so that elements are read on access. Writes to the tensors stay in
        this process. `f` must be a path.
    encoding : str, default "utf-8"
        Encoding of Python 2 strings in ``torch.save`` files; "bytes" does not decode them.

    Returns
    -------
    object
        An object equal to the saved one.

    Raises
    ------
    RuntimeError
        "can't load", with the reason, if the file is truncated, corrupt or of another format, or if
        a required device is not available. Invalid bytes raise no other error, and memory use is a
        small multiple of the file size.
    pickle.UnpicklingError
        "Weights only load failed", if the file has pickled objects and ``weights_only``.
    ValueError
        For ``mmap=True`` without a path, and for another `pickle_module`.
    OSError
        If the file cannot be read.
    Exception
        With ``weights_only=False``, any exception of the code of pickled objects.
    """
    _check_pickle(pickle_module)
    trusted = _is_trusted(weights_only)
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


def _is_trusted(weights_only: bool | None) -> bool:
    """Return whether `load` may run code of the file, by its argument and by the environment."""
    names = ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    never, always = [os.environ.get(name, "") in ("1", "y", "yes", "true") for name in names]
    if never and always:
        raise RuntimeError(f"Only one of {names[0]} or {names[1]} should be set. Unset the other.")
    if always and weights_only is None:
        warn_user(
            f"Environment variable {names[1]} detected: forcing weights_only=False, so that load "
            "runs code of the file."
        )
        return True
    return weights_only is False and not never


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
