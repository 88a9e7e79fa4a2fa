"""Validated records of the tensors and storages in a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import dovetail_kernel
from dovetail_kernel import dtype

from .checked_json import (
    FormatError,
    checked_dict,
    checked_integer,
    checked_integers,
    checked_list,
    checked_text,
    shown,
)

_BYTES = 2**63
_LONGEST_DEVICE = 64


class StorageRecord(NamedTuple):
    """A storage: its original dtype, and the device from which it was saved."""

    dtype: dtype
    device: str


class TensorRecord(NamedTuple):
    """A tensor: its storage, "" for a meta tensor, its offset (in elements of `dtype`), and its
    properties.
    """

    storage: str
    dtype: dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    requires_grad: bool = False
    parameter: bool = False


def dtype_named(name: object, what: str) -> dtype:
    """Return the dtype of this name; `what` is its owner in error messages."""
    found = getattr(dovetail_kernel, checked_text(name, what), None)
    if not isinstance(found, dtype):
        raise FormatError(f"{what} should be the name of a dtype, not {shown(name)}")
    return found


def device_name(name: object, what: str) -> str:
    """Return the name of a device, which need not be available."""
    if len(checked_text(name, what)) > _LONGEST_DEVICE:
        raise FormatError(f"{what} should be the name of a device, not {shown(name)}")
    return str(name)


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array in C order."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def storage_records(node: object, sizes: Mapping[str, int]) -> dict[str, StorageRecord]:
    """Return the records of the storages; `sizes` are the sizes of the arrays in bytes."""
    records: dict[str, StorageRecord] = {}
    for name, fields in checked_dict(node, "the storages").items():
        what = f"the storage {shown(name)}"
        checked_dict(fields, what, ("dtype", "device"))
        kind = dtype_named(fields["dtype"], f"the dtype of {what}")
        device = device_name(fields["device"], f"the device of {what}")
        if name not in sizes:
            raise FormatError(f"{what} has no array in the file")
        if sizes[name] % kind.itemsize:
            raise FormatError(f"{what} has {sizes[name]} bytes: no whole number of {kind} elements")
        records[name] = StorageRecord(kind, device)
    return records


def tensor_records(node: object, sizes: Mapping[str, int]) -> list[TensorRecord]:
    """Return the records of the tensors; `sizes` are the sizes of the storages in bytes."""
    return [
        _tensor_record(fields, f"tensor {number}", sizes)
        for number, fields in enumerate(checked_list(node, "the list of tensors"))
    ]


def _tensor_record(node: object, what: str, sizes: Mapping[str, int]) -> TensorRecord:
    fields = checked_dict(node, what, TensorRecord._fields)
    record = TensorRecord(
        checked_text(fields["storage"], f"the storage of {what}"),
        dtype_named(fields["dtype"], f"the dtype of {what}"),
        checked_integers(fields["shape"], f"the shape of {what}"),
        checked_integers(fields["stride"], f"the strides of {what}"),
        checked_integer(fields["offset"], f"the offset of {what}"),
        _checked_bool(fields["requires_grad"], f"requires_grad of {what}"),
        _checked_bool(fields["parameter"], f"'parameter' of {what}"),
    )
    if record.storage and record.storage not in sizes:
        raise FormatError(f"{what} is in the storage {shown(record.storage)}, which is not there")
    if record.offset and not record.storage:
        raise FormatError(f"{what} has no storage, but the offset {record.offset}")
    check_place(record, sizes[record.storage] if record.storage else _BYTES, what)
    return record


def check_place(record: TensorRecord, nbytes: int, what: str) -> None:
    """Raise an error if a record exceeds a storage of `nbytes`."""
    if len(record.shape) != len(record.stride):
        raise FormatError(f"{what} has {len(record.shape)} sizes but {len(record.stride)} strides")
    if record.requires_grad and not (record.dtype.is_floating_point or record.dtype.is_complex):
        raise FormatError(f"{what} requires grad, but its dtype is {record.dtype}")
    itemsize = record.dtype.itemsize
    extent = math.prod([size or 1 for size in record.shape])
    if max(extent, *record.stride, record.offset) * itemsize >= _BYTES:
        raise FormatError(f"{what} is larger than memory can be")
    if 0 not in record.shape:
        last = record.offset + sum(
            [(size - 1) * step for size, step in zip(record.shape, record.stride, strict=True)]
        )
        count = nbytes // itemsize
        if last >= count:
            raise FormatError(f"{what} reaches to element {last} of a storage that has {count}")


def _checked_bool(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise FormatError(f"{what} should be true or false, not {shown(value)}")
    return value
