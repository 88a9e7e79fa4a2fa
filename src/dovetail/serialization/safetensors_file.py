"""The safetensors file format: a JSON header, then the bytes of named arrays. Reading it runs no
code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Entry", "FormatError", "pack", "unpack"]

_HEADER_LENGTH_BYTES = 8
_MAX_HEADER = 100_000_000
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
    "float8_e4m3fn": ("F8_E4M3", 1),
    "float8_e5m2": ("F8_E5M2", 1),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "float32": ("F32", 4),
    "float64": ("F64", 8),
    "complex64": ("C64", 8),
}
_NAMES = {code: (name, size) for name, (code, size) in _DTYPES.items()}


class FormatError(ValueError):
    """The bytes are not a whole, valid safetensors file; the message says in what."""


class Entry(NamedTuple):
    """One array: the name of its dtype, its shape, and its bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview | bytes


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
        start, end = end, end + _size(entry.dtype, entry.shape)
        header[name] = {
            "dtype": _DTYPES[entry.dtype][0],
            "shape": list(entry.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(_HEADER_LENGTH_BYTES, "little") + text
    for _, entry in ordered:
        yield entry.data


def unpack(content: bytes | memoryview) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the arrays (as views of ``content``) and the metadata of a file.

    Raises
    ------
    FormatError
        If the file is truncated, corrupt or something else.
    """
    view = memoryview(content)
    if len(view) < _HEADER_LENGTH_BYTES:
        raise FormatError(f"it has only {len(view)} bytes, too few for a header")
    length = int.from_bytes(view[:_HEADER_LENGTH_BYTES], "little")
    if length > _MAX_HEADER or bytes(view[_HEADER_LENGTH_BYTES : _HEADER_LENGTH_BYTES + 1]) != b"{":
        raise FormatError(f"it does not begin with a safetensors header{_guess(bytes(view[:4]))}")
    body = view[_HEADER_LENGTH_BYTES + length :]
    if len(view) < _HEADER_LENGTH_BYTES + length:
        raise FormatError(
            f"it is truncated: the header should have {length} bytes, the file ends before"
        )
    try:
        header = json.loads(bytes(view[_HEADER_LENGTH_BYTES : _HEADER_LENGTH_BYTES + length]))
        metadata = {str(key): str(value) for key, value in header.pop("__metadata__", {}).items()}
        entries = {name: _entry(name, description, body) for name, description in header.items()}
        expected = max(
            (description["data_offsets"][1] for description in header.values()), default=0
        )
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"its header is corrupt ({type(error).__name__}: {error})") from error
    if len(body) != expected:
        raise FormatError(f"it has {len(body)} bytes of data where the header announces {expected}")
    return entries, metadata


def _entry(name: str, description: dict[str, Any], body: memoryview) -> Entry:
    if description["dtype"] not in _NAMES:
        raise FormatError(f"the data type {description['dtype']!r} of {name!r} is not known")
    dtype, _ = _NAMES[description["dtype"]]
    shape = tuple(description["shape"])
    start, end = description["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, start, end)):
        raise FormatError(f"the shape or position of {name!r} is not made of non-negative integers")
    if end - start != _size(dtype, shape):
        raise FormatError(f"{name!r} has {end - start} bytes, which does not fit its shape {shape}")
    if end > len(body):
        raise FormatError(
            f"it is truncated: {name!r} should end at byte {end} of the data, which has {len(body)}"
        )
    return Entry(dtype, shape, body[start:end])


def _size(dtype: str, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * _DTYPES[dtype][1]


def _guess(start: bytes) -> str:
    if start[:2] == b"PK":
        return "; it is a zip archive, as torch.save writes"
    if start[:1] == b"\x80":
        return "; it looks like a pickle"
    return ""
