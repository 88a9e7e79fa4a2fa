"""Files of ``torch.save``, put together by hand and by `dovetail.save`, and pickles that no honest
program writes.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import dovetail
from dovetail import nn
from dovetail.serialization.byte_sources import ByteSource
from dovetail.serialization.torch_format.zip_archive import ZipArchive, pack_zip

MAGIC = 0x1950A86A20F9469CFC6C


def torch_contents(value: Any) -> bytes:
    """Return the file that ``save(value, format="torch")`` writes."""
    stream = io.BytesIO()
    dovetail.save(value, stream, format="torch")
    return stream.getvalue()


def archive(records: Mapping[str, bytes]) -> bytes:
    """Return a zip archive with right checksums."""
    return b"".join(pack_zip({f"archive/{name}": data for name, data in records.items()}))


def records(content: bytes) -> dict[str, bytes]:
    """Return the records of an archive by name."""
    return dict(_records(content))


@cache
def _records(content: bytes) -> dict[str, bytes]:
    opened = ZipArchive(ByteSource(io.BytesIO(content)))
    return {name: opened.read(name).tobytes() for name in opened._records}


def checkpoint(described: bytes, **storages: bytes) -> bytes:
    """Return a checkpoint whose object is described by the operations of a pickle."""
    data = {f"data/{key[1:]}": content for key, content in storages.items()}
    return archive({"data.pkl": b"\x80\x02" + described + b".", "byteorder": b"little", **data})


def legacy(content: bytes, changes: Mapping[str, bytes] | None = None) -> bytes:
    """Return an archive as the sequence of pickles that PyTorch wrote before 1.6, with changed
    records.
    """
    parts = records(content)
    sizes = storage_sizes(parts["data.pkl"])
    parts.update(changes or {})
    keys = [name[5:] for name in parts if name.startswith("data/")]
    system = {"protocol_version": 1001, "little_endian": sys.byteorder == "little"}
    written = [pickle.dumps(each, 2) for each in (MAGIC, 1001, system)]
    written += [parts["data.pkl"], pickle.dumps(keys, 2)]
    for key in keys:
        written += [sizes[key].to_bytes(8, sys.byteorder), parts[f"data/{key}"]]
    return b"".join(written)


def storage_sizes(described: bytes) -> dict[str, int]:
    """Return the numbers of elements by storage."""
    sizes: dict[str, int] = {}

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return lambda *args: OrderedDict() if name == "OrderedDict" else name

        def persistent_load(self, pid: Any) -> Any:
            sizes[pid[2]] = pid[4]

    Reader(io.BytesIO(described)).load()
    return sizes


def valid_checkpoints() -> list[bytes]:
    """Return archives that have every kind of part that one has."""
    base = dovetail.arange(12.0).reshape(3, 4)
    shared = [1, {"k": (2, 3)}]
    values: list[Any] = [
        dovetail.arange(5),
        {"base": base, "view": base.t()[1:], "bits": base.view(dovetail.int32)},
        [dovetail.tensor([True, False]), dovetail.ones(3, dtype=dovetail.uint16)],
        [nn.Parameter(dovetail.ones(2)), dovetail.ones(2, requires_grad=True)],
        {"shared": shared, "again": shared, "set": {1, 2, (2, 3)}, "counter": Counter("aab")},
        [10**30, 1.5, -2j, b"abc", bytearray(b"x"), dovetail.float16, dovetail.device("cpu")],
        [nn.Linear(2, 2).state_dict(), OrderedDict(a=1), dovetail.Size([2])],
    ]
    return [torch_contents(value) for value in values]


def damaged_checkpoint(random: Random, content: bytes) -> bytes:
    """Return an archive with random damage, mostly to the pickle, and with right checksums."""
    if random.random() < 0.2:
        return damaged_bytes(random, content)
    parts = records(content)
    name = "data.pkl" if random.random() < 0.8 else random.choice(list(parts))
    changes = {name: damaged_bytes(random, parts[name])}
    return archive({**parts, **changes}) if random.random() < 0.8 else legacy(content, changes)


def damaged_bytes(random: Random, content: bytes) -> bytes:
    """Return the bytes with a few changed, left out, doubled, or exchanged."""
    changed = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 5])):
        place = random.randrange(len(changed) + 1)
        kind = random.randrange(6)
        if kind == 0 and changed:
            changed[place % len(changed)] = random.randrange(256)
        elif kind == 1:
            del changed[place : place + random.choice([1, 2, 10])]
        elif kind == 2:
            changed[place:place] = random.randbytes(random.choice([1, 4]))
        elif kind == 3:
            changed[place:place] = changed[place : place + random.choice([5, 50])]
        elif kind == 4:
            changed[place:place] = random.choice(OPERATIONS)
        elif random.random() < 0.3:
            del changed[place:]
    return bytes(changed)


OPERATIONS = [
    b"(", b"0", b"1", b"2", b"N", b"]", b"}", b")", b"\x8f", b"R", b"b", b"s", b"u", b"e", b"a",
    b"t", b"\x85", b"\x86", b"\x87", b"q\x00", b"h\x00", b"h\x05", b"Q", b"\x81", b"\x94", b".",
    b"K\x05", b"J\xff\xff\xff\xff", b"\x8a\x09" + b"\xff" * 8 + b"\x7f", b"X\x01\x00\x00\x00a",
    b"ccollections\nOrderedDict\n", b"ctorch\nSize\n", b"ctorch\nfloat64\n", b"ctorch\nTensor\n",
    b"ctorch\nLongStorage\n", b"ctorch.storage\nUntypedStorage\n", b"c__builtin__\nset\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch._utils\n_rebuild_parameter\n",
    b"r\xff\xff\xff\x7f", b"j\xff\xff\xff\x7f", b"\x8d" + b"\xff" * 8, b"\x82\x01",
    b"V0\n", b"S'a'\n",
]  # fmt: skip
