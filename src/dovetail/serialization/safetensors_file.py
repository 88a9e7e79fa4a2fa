"""The safetensors file format: a JSON header, then the bytes of named arrays. Reading it runs no
code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, NamedTuple

from .byte_sources import ByteSource
from .checked_json import (
    FormatError,
    checked_dict,
    checked_integer,
    checked_integers,
    checked_list,
    checked_text,
    parse_json,
    shown,
)

_HEADER_LENGTH_BYTES = 8
_MAX_HEADER = 100_000_000
_PIECE = 1 << 20
_TAR_MARK = slice(257, 262)
# Names of data types in the format, with the bytes of one element.
_DTYPES = {
    "bool": ("BOOL", 1),
    "uint8": ("U8", 1),
    "int8": ("I8", 1),
    "uint16": ("U16", 2),
    "int16": ("I16", 2),
    "uint32": ("U32", 4),
    "int32": ("I32", 4),
    "uint64": ("U64", 8),
    "int64": ("I64", 8),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "float32": ("F32", 4),
    "float64": ("F64", 8),
    "complex64": ("C64", 8),
}
_NAMES = {code: (name, size) for name, (code, size) in _DTYPES.items()}


class Entry(NamedTuple):
    """One array: its dtype name, its shape, and its bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview | bytes


class _Place(NamedTuple):
    """What the header says of one array."""

    start: int
    end: int
    name: str
    dtype: str
    shape: tuple[int, ...]


def is_storable(dtype: str) -> bool:
    """Return whether the format has a name for this dtype."""
    return dtype in _DTYPES


def pack(entries: Mapping[str, Entry], metadata: Mapping[str, str]) -> Iterator[memoryview | bytes]:
    """Yield the pieces of a file: the header, then each array's bytes (largest elements first, so
    all are aligned).
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    ordered = sorted(entries.items(), key=lambda item: -_DTYPES[item[1].dtype][1])
    end = 0
    for name, entry in ordered:
        code, itemsize = _DTYPES[entry.dtype]
        start, end = end, end + math.prod(entry.shape) * itemsize
        header[name] = {"dtype": code, "shape": list(entry.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(_HEADER_LENGTH_BYTES, "little") + text
    for _, entry in ordered:
        yield entry.data


def unpack(
    start: bytes, stream: IO[bytes], mapped: ByteSource | None = None
) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the arrays and the metadata of a file, whose first eight bytes have been read. The
    arrays are views of one buffer, or of the mapped file.

    The arrays must fill the data without gaps and overlaps, so that no more data than the file's
    size is read.

    Raises
    ------
    FormatError
        If the file is truncated, corrupt or of another format.
    """
    if len(start) < _HEADER_LENGTH_BYTES:
        raise FormatError(f"it has only {len(start)} bytes, too few for a header")
    length = int.from_bytes(start, "little")
    first = _read(stream, min(length, 1)) if length <= _MAX_HEADER else b""
    if first != b"{":
        start += first + _read(stream, _TAR_MARK.stop)
        raise FormatError(f"it does not begin with a safetensors header{_guess(start)}")
    text = first + _read(stream, length - 1)
    if len(text) < length:
        raise FormatError(
            f"it is truncated: the header should have {length} bytes, the file ends before"
        )
    places, metadata = _parse_header(text)
    size = places[-1].end if places else 0
    if mapped is None:
        data = memoryview(_read(stream, size))
    else:
        place = _HEADER_LENGTH_BYTES + length
        data = memoryview(mapped.piece(place, min(place + size, mapped.size)))
        stream.seek(place + size)
    if len(data) < size:
        raise FormatError(
            f"it is truncated: it has {len(data)} bytes of data where the header announces {size}"
        )
    if stream.read(1):
        raise FormatError(f"it has more than the {size} bytes of data that the header announces")
    entries = {
        place.name: Entry(place.dtype, place.shape, data[place.start : place.end])
        for place in places
    }
    return entries, metadata


def read_start(stream: IO[bytes]) -> bytes:
    """Return the first bytes of a file, which identify its format; fewer for a short file."""
    return bytes(_read(stream, _HEADER_LENGTH_BYTES))


def _read(stream: IO[bytes], count: int) -> bytearray:
    """Read `count` bytes, or all there are; in pieces, since the count may be a lie."""
    content = bytearray()
    while len(content) < count:
        piece = stream.read(min(count - len(content), _PIECE))
        if not piece:
            break
        content += piece
    return content


def _parse_header(text: bytes | bytearray) -> tuple[list[_Place], dict[str, str]]:
    """Return the arrays in the order in which they lie, and the metadata."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"its header is corrupt: it is no UTF-8 ({error})") from None
    header = checked_dict(parse_json(decoded, "its header"), "its header")
    metadata = checked_dict(header.pop("__metadata__", {}), "the metadata")
    for key, value in metadata.items():
        checked_text(value, f"the metadata {shown(key)}")
    places = sorted([_place(name, description) for name, description in header.items()])
    end = 0
    for place in places:
        if place.start != end:
            wrong = "overlaps the one before" if place.start < end else "leaves a hole before it"
            raise FormatError(
                f"the array {shown(place.name)} begins at byte {place.start} of the data and "
                f"{wrong}, which ends at byte {end}"
            )
        end = place.end
    return places, metadata


def _place(name: str, description: object) -> _Place:
    what = f"the array {shown(name)}"
    fields = checked_dict(description, what, ("dtype", "shape", "data_offsets"))
    code = checked_text(fields["dtype"], f"the data type of {what}")
    if code not in _NAMES:
        raise FormatError(f"the data type {shown(code)} of {what} is not known here")
    dtype, itemsize = _NAMES[code]
    shape = checked_integers(fields["shape"], f"the shape of {what}")
    if math.prod([size or 1 for size in shape]) * itemsize >= 2**63:
        raise FormatError(f"{what} is larger than memory can be: its shape is {shape}")
    offsets = checked_list(fields["data_offsets"], f"the position of {what}")
    if len(offsets) != 2:
        raise FormatError(f"the position of {what} should be two offsets, not {shown(offsets)}")
    start, end = [checked_integer(offset, f"the position of {what}") for offset in offsets]
    if end - start != math.prod(shape) * itemsize:
        raise FormatError(f"{what} has {end - start} bytes, which does not fit its shape {shape}")
    return _Place(start, end, name, dtype, shape)


_OTHERS: Final = {
    b"PK\x03\x04": "a zip archive, as torch.save writes: load it by dovetail.load",
    b"\x93NUMPY": "an array of NumPy's: load it by numpy.load",
    b"\x89HDF": "an HDF5 file",
    b"GGUF": "a GGUF file",
    b"\x1f\x8b": "compressed by gzip: unpack it first",
    b"BZh": "compressed by bzip2: unpack it first",
    b"\xfd7zXZ": "compressed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it first",
}
_PRINTABLE: Final = frozenset(b"\t\n\r" + bytes(range(32, 127)))


def _guess(start: bytes) -> str:
    if start[_TAR_MARK] == b"ustar":
        return (
            "; it is a tar archive, as PyTorch wrote before version 0.1.10: load it there, and "
            "save it anew"
        )
    if start[:1] == b"\x80":
        return "; it looks like a pickle, which torch.save did not write"
    for mark, what in _OTHERS.items():
        if start.startswith(mark):
            return f"; it is {what}"
    if all([byte in _PRINTABLE for byte in start]):
        return "; it is a text"
    return ""
