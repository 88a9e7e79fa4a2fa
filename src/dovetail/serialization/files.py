"""`save` and `load`: tensors and the containers around them in one safetensors file; loading runs
no code.

Every storage is one array of the file, so that views and shared tensors stay so. The containers are
JSON in the file's metadata. Other Python objects are pickled at save, and read only with
``weights_only=False``.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import tempfile
from contextlib import suppress
from typing import IO, Any, TypeAlias

from dovetail_aten import Tensor

from ..nn.parameter import Parameter
from .safetensors_file import Entry, FormatError, pack, unpack
from .stored_tensors import PICKLE_ENTRY, MapLocation, TensorReader, TensorWriter
from .structure import Decoder, Encoder

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
        A path is written atomically: the file is there whole, or as it was before.

    Raises
    ------
    pickle.PicklingError, TypeError, AttributeError
        If something in ``obj`` can't be pickled; the file is not touched.
    """
    tensors = TensorWriter()
    encoder = Encoder(tensors.index)
    root = encoder.encode(obj)
    if encoder.others:
        tensors.entries[PICKLE_ENTRY] = _pickled(encoder.others, tensors)
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
    if not isinstance(f, (str, os.PathLike)):
        for piece in pieces:
            f.write(piece)
        return
    target = os.path.realpath(f)
    handle, temporary = tempfile.mkstemp(
        prefix=os.path.basename(target) + ".", suffix=".tmp", dir=os.path.dirname(target)
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


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
    pickle.UnpicklingError
        "Weights only load failed", if the file has pickled objects and ``weights_only``.
    RuntimeError
        If the file is truncated, corrupt or something else.
    """
    if isinstance(f, (str, os.PathLike)):
        name = repr(os.fspath(f))
        with open(f, "rb") as stream:
            content = stream.read()
    else:
        name = repr(getattr(f, "name", type(f).__name__))
        content = f.read()
    try:
        entries, metadata = unpack(content)
        if "dovetail" not in metadata:
            plain = (
                {"storage": entry, "shape": list(value.shape)} for entry, value in entries.items()
            )
            views = [{**view, "stride": None, "offset": 0} for view in plain]
            reader = TensorReader(entries, {}, views, map_location)
            return {entry: reader.tensor(index) for index, entry in enumerate(entries)}
        if metadata.get("dovetail_format") != _FORMAT:
            raise FormatError(
                f"it was written in format {metadata.get('dovetail_format')}, this version reads "
                f"{_FORMAT}"
            )
        description = json.loads(metadata["dovetail"])
        types = description["types"]
        reader = TensorReader(
            entries, description["storages"], description["tensors"], map_location
        )
    except FormatError as error:
        raise _unreadable(name, str(error)) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(
            name, f"its description is corrupt ({type(error).__name__}: {error})"
        ) from error
    if types and weights_only:
        raise pickle.UnpicklingError(
            f"Weights only load failed: {name} contains pickled objects of type "
            f"{', '.join(map(str, types))}. "
            "Loading them can run any code. If you trust the file, pass weights_only=False; "
            "otherwise save only tensors and plain containers, such as model.state_dict()."
        )
    others = _Unpickler(io.BytesIO(entries[PICKLE_ENTRY].data), reader).load() if types else []
    try:
        return Decoder(reader.tensor, others).decode(description["root"])
    except (
        FormatError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise _unreadable(
            name, f"its description is corrupt ({type(error).__name__}: {error})"
        ) from error


def _unreadable(name: str, problem: str) -> RuntimeError:
    return RuntimeError(
        f"can't load {name}: {problem}. Save it again by dovetail.save (another program's "
        "checkpoint: convert it to "
        "safetensors there), or copy the file again from its source."
    )


def _mode(target: str) -> int:
    """Return the permissions for the new file: those of the old one, or what the umask leaves."""
    with suppress(FileNotFoundError):
        return os.stat(target).st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class _Pickler(pickle.Pickler):
    """Pickles objects whose tensors are those of the file."""

    def __init__(self, stream: IO[bytes], tensors: TensorWriter) -> None:
        super().__init__(stream, protocol=4)
        self._tensors = tensors

    def persistent_id(self, obj: Any) -> int | None:
        return self._tensors.index(obj, "pickled") if type(obj) in (Tensor, Parameter) else None


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, stream: IO[bytes], tensors: TensorReader) -> None:
        super().__init__(stream)
        self._tensors = tensors

    def persistent_load(self, pid: int) -> Tensor:
        return self._tensors.tensor(pid)


def _pickled(objects: list[Any], tensors: TensorWriter) -> Entry:
    stream = io.BytesIO()
    _Pickler(stream, tensors).dump(objects)
    data = stream.getvalue()
    return Entry("uint8", (len(data),), data)
