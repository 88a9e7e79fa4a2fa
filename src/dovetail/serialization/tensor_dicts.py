"""`save_file` and `load_file`, as in the safetensors library: dicts of tensors by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dovetail_aten import Tensor

from .._files import write_file
from .checked_json import FormatError
from .element_bytes import bytes_of_line, line_of_bytes
from .placement import Placement
from .safetensors_file import Entry, is_storable, pack, read_start, unpack
from .stored_tensors import TensorReader
from .tensor_records import StorageRecord, TensorRecord, contiguous_stride, dtype_named


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Save tensors by name to a safetensors file, which any program that supports the format can
    read.

    Parameters
    ----------
    tensors : dict
        Contiguous tensors that share no memory; `save` accepts any tensors.
    filename : path
        The file, which is replaced atomically.
    metadata : dict of str to str, optional
        Text to store with the tensors.

    Raises
    ------
    ValueError
        If a value is not a tensor, or is not contiguous.
    RuntimeError
        If tensors share memory.
    """
    if not isinstance(tensors, dict):
        raise ValueError(
            f"Expected a dict of [str, dovetail.Tensor] but received {type(tensors)}. Give the "
            "tensors by names."
        )
    owners: dict[tuple[Any, ...], str] = {}
    entries: dict[str, Entry] = {}
    for name, tensor in tensors.items():
        entries[_checked_name(name)] = _entry(name, tensor)
        place = tensor.untyped_storage().place()
        if tensor.numel() and place in owners:
            raise RuntimeError(
                f"Some tensors share memory: {owners[place]!r} and {name!r}. The file would hold "
                "it twice, and they would share none when they are loaded. Give copies (clone()), "
                "or use dovetail.save, which keeps what is shared."
            )
        owners[place] = name
    write_file(os.fsdecode(filename), pack(entries, {"format": "pt", **(metadata or {})}))


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name, on `device`.

    For a file written by `save`, these are the storages.

    Raises
    ------
    RuntimeError
        If the file is truncated, corrupt or of another format.
    OSError
        If the file cannot be read.
    """
    placement = Placement(device)
    with open(filename, "rb") as stream:
        try:
            entries, _ = unpack(read_start(stream), stream)
            return plain_tensors(entries, placement)
        except FormatError as error:
            name = repr(os.fspath(filename))
            raise RuntimeError(f"can't load {name}: {error}. {error.remedy}") from error


def plain_tensors(
    entries: dict[str, Entry], placement: Placement, line: Any = line_of_bytes
) -> dict[str, Tensor]:
    """Return the arrays of a file as tensors, by name."""
    storages: dict[str, StorageRecord] = {}
    records: list[TensorRecord] = []
    for name, entry in entries.items():
        kind = dtype_named(entry.dtype, f"the data type of {name!r}")
        storages[name] = StorageRecord(kind, "cpu")
        records.append(TensorRecord(name, kind, entry.shape, contiguous_stride(entry.shape), 0))
    reader = TensorReader(entries, storages, records, placement, line)
    return {name: reader.tensor(number) for number, name in enumerate(entries)}


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"{name!r:.60} is no name of a tensor in a file. Use another string.")
    return name


def _entry(name: str, tensor: object) -> Entry:
    if not isinstance(tensor, Tensor):
        raise ValueError(
            f"Key `{name}` is invalid, expected dovetail.Tensor but received {type(tensor)}. Leave "
            "it out, or use dovetail.save."
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"You are trying to save a non contiguous tensor: `{name}`. Save "
            "tensor.contiguous(), or use dovetail.save, which keeps the strides."
        )
    if not is_storable(tensor.dtype.name):
        raise ValueError(f"`{name}` is {tensor.dtype}, which the format has no name for. Convert.")
    data = bytes_of_line(tensor.detach().reshape(-1).cpu())
    return Entry(tensor.dtype.name, tuple(tensor.shape), data)
