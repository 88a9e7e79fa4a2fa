"""Files of a few kilobytes that would cost gigabytes or minutes are refused, or cost little."""

from __future__ import annotations

import io
import json
import pickle
import struct
import time
import tracemalloc
import zipfile
from typing import Any

import pytest
from torch_pickles import checkpoint

import dovetail

LARGE = 2**33
EIGHT = struct.pack("<2f", 1, 2)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def called_again(name: str, argument: bytes, times: int = 10_000) -> bytes:
    """Return a pickle that calls a global again and again with one argument that is stored once."""
    start = b"c" + name.encode() + b"\nq\x00" + argument + b"q\x01]("
    return start + b"h\x00h\x01R" * times + b"e"


def pickled(value: Any) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def dict_of(keys: list[Any]) -> bytes:
    """Return a pickle of a dict, which would take minutes to make."""
    return b"}(" + b"".join([pickled(key) + b"N" for key in keys]) + b"u"


P = 2**61 - 1
MANY = b"](" + b"K\x01" * 5000 + b"e\x85"
REFUSED = {
    "sets of one list": called_again("__builtin__\nset", MANY),
    "frozen sets of one list": called_again("__builtin__\nfrozenset", MANY),
    "OrderedDicts of one list": called_again(
        "collections\nOrderedDict", b"](" + b"K\x01K\x01\x86" * 5000 + b"e\x85"
    ),
    "Counters of one dict": called_again(
        "collections\nCounter", dict_of(list(range(5000))) + b"\x85"
    ),
    "bytes of one string": called_again("_codecs\nencode", text("x" * 20_000) + b"\x85"),
    "bytearrays of one string": called_again(
        "__builtin__\nbytearray", text("x" * 20_000) + text("latin1") + b"\x86"
    ),
    "integers of one hash": dict_of([each * P for each in range(1000)]),
    "tuples of one hash": dict_of([(each * P,) for each in range(1000)]),
    "complex numbers of one hash": dict_of(
        [complex(1000003.0 * each, -float(each)) for each in range(1000)]
    ),
}


def load(content: bytes) -> Any:
    """Load, and see that this costs what a file of that size may."""
    tracemalloc.start()
    start = time.process_time()
    try:
        return dovetail.load(io.BytesIO(content))
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert time.process_time() - start < 1 + len(content) / 50_000
        assert peak < 16e6 + 300 * len(content)


@pytest.mark.parametrize("name", REFUSED)
def test_copies_and_keys_of_one_hash_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="can't load"):
        load(checkpoint(REFUSED[name], _0=EIGHT))


def test_integers_of_one_hash_in_a_file_of_save_are_refused() -> None:
    stream = io.BytesIO()
    dovetail.save({each * P: 0 for each in range(500)}, stream)
    with pytest.raises(RuntimeError, match=r"can't load.*of one hash"):
        load(stream.getvalue())


KEYS = [
    *range(-300, 300), *(each / 7 for each in range(500)), *(2**62 + each for each in range(500)),
    *((each, "a", None) for each in range(500)), *(complex(each, 1) for each in range(500)),
]  # fmt: skip


@pytest.mark.parametrize("format", ["safetensors", "torch"])
def test_ordinary_keys_come_back(format: str) -> None:
    value = [dict.fromkeys(KEYS, 1), dict.fromkeys(KEYS, 2), {*KEYS}]
    stream = io.BytesIO()
    dovetail.save(value, stream, format=format)
    assert dovetail.load(io.BytesIO(stream.getvalue())) == value


BITS = {"conj": ("ComplexFloat", 1, 1 - 2j), "neg": ("Float", 2, -1.0)}


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("size", [(LARGE, 1), (1, 1), (0, 1)])
def test_bits_of_a_tensor_cost_what_its_memory_does(bit: str, size: tuple[int, ...]) -> None:
    kind, width, first = BITS[bit]
    storage = b"(" + text("storage") + f"ctorch\n{kind}Storage\n".encode() + text("0")
    storage += text("cpu") + pickled(width) + b"tQ"
    place = b"K\x00" + pickled(size) + pickled((0, 1))
    flags = b"N}" + text(bit) + b"\x88s"
    body = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + place + b"\x89" + flags + b"tR"
    loaded = load(checkpoint(body, _0=EIGHT))
    assert loaded.shape == size
    if loaded.numel():
        assert loaded[-1].tolist() == [first]


@pytest.mark.parametrize("format", ["safetensors", "torch"])
def test_tuples_within_tuples_are_saved_once(format: str) -> None:
    value: Any = (1.5, "a")
    for _ in range(40):
        value = (value, value)
    stream = io.BytesIO()
    dovetail.save([value, (), {"a": value}], stream, format=format)
    assert len(stream.getvalue()) < 10_000
    first, empty, other = load(stream.getvalue())
    assert empty == ()
    assert other["a"] is first
    for _ in range(40):
        assert first[0] is first[1]
        first = first[0]
    assert first == (1.5, "a")


def test_an_empty_archive_is_refused() -> None:
    stream = io.BytesIO()
    zipfile.ZipFile(stream, "w").close()
    with pytest.raises(RuntimeError, match=r"can't load.*without data\.pkl"):
        dovetail.load(io.BytesIO(stream.getvalue()))


def of_save(root: Any) -> bytes:
    description = {"root": root, "tensors": [], "storages": {}, "types": []}
    metadata = {"dovetail_format": "1", "dovetail": json.dumps(description)}
    header = json.dumps({"__metadata__": metadata}).encode()
    return len(header).to_bytes(8, "little") + header


CODE = "\x1b[2J\x07\x9b"
OBEYED = {
    "a global": checkpoint(b"cos" + CODE.encode() + b"\nsystem" + CODE.encode() + b"\n"),
    "a global by stack": checkpoint(text("os" + CODE) + text(CODE) + b"\x93"),
    "a storage": checkpoint(b"ctorch\n" + CODE.encode() + b"Storage\n"),
    "a class of tensors": checkpoint(b"ctorch.cuda\n" + CODE.encode() + b"Tensor\n"),
    "a record": checkpoint(
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(CODE) + text("cpu") + b"K\x02tQ"
    ),
    "a kind of object": of_save({CODE: 1}),
    "a device": of_save({"device": CODE}),
    "a dtype": of_save({"dtype": CODE}),
    "a repeated key": of_save({"dict": [[CODE, 1], [CODE, 1]]}),
}


@pytest.mark.parametrize("name", OBEYED)
def test_a_terminal_obeys_no_file(name: str) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)) as caught:
        dovetail.load(io.BytesIO(OBEYED[name]))
    message = str(caught.value)
    assert all(each.isprintable() or each == "\n" for each in message)
    assert "2J" in message
