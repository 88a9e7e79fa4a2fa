"""Storages of files and of buffers, and tensors of storages: the same here and in PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from same_programs import Programs, assert_same, plain

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = [
    pytest.mark.cpu_only(reason="files are memory of the cpu"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

program = Programs()


def outcome(call: Callable[[], Any], *, words: int = 23) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)[:words]


def file_of(*values: int) -> Path:
    path = Path(tempfile.mkdtemp()) / "bytes"
    path.write_bytes(bytes(values))
    return path


@program("what is written to a storage of a file stays in the process unless it is shared")
def _(lib: Any) -> Any:
    path = file_of(1, 2, 3, 4)
    own = lib.UntypedStorage.from_file(str(path), False, 4)
    own[0] = 9
    before = list(path.read_bytes())
    shared = lib.UntypedStorage.from_file(str(path), True, 3)
    shared[1] = 8
    return own.tolist(), before, shared.tolist(), shared.is_shared(), list(path.read_bytes())


@program("a shared file is made, and made longer")
def _(lib: Any) -> Any:
    path = file_of(1, 2)
    new = path.with_name("new")
    sizes = [lib.UntypedStorage.from_file(str(each), True, 5).nbytes() for each in (path, new)]
    # PyTorch sets the first byte of a file that it makes longer to zero, which is not wanted.
    return sizes, list(path.read_bytes())[1:], list(new.read_bytes())


@program("a file is memory of tensors")
def _(lib: Any) -> Any:
    path = file_of(*range(16))
    tensor = lib.from_file(str(path), shared=True, size=2, dtype=lib.int64)
    tensor[1] = 5
    again = lib.from_file(str(path), size=4, dtype=lib.int32)
    ones = lib.from_file(str(path), True, 1, requires_grad=True)
    typed = lib.IntStorage.from_file(str(path), False, 2)
    return tensor, again, ones.requires_grad, typed.tolist(), lib.from_file(str(path)).shape


@program("a file that is not there, too short, or no path, is refused")
def _(lib: Any) -> Any:
    path = str(file_of(1, 2))
    read = lib.UntypedStorage.from_file
    return [
        outcome(lambda: read(path + "?", False, 1)),
        outcome(lambda: read(path, False, 3), words=6),
        outcome(lambda: read(path, False, -1)),
        outcome(lambda: read(3, False, 1)),
        outcome(lambda: read(path, False, 2).resize_(4)),
        outcome(lambda: lib.TypedStorage.from_file(path, False, 1)),
        outcome(lambda: lib.from_file(path, size=1), words=6),
        outcome(lambda: lib.from_file(path, size=2, dtype=lib.uint8, requires_grad=True)),
        outcome(lambda: lib.from_file(path, device="meta"), words=15),
    ]


@program("a storage is copied from a buffer, with its bytes in any order")
def _(lib: Any) -> Any:
    data = bytes(range(16))
    return [
        lib.ByteStorage.from_buffer(data).tolist(),
        lib.ByteStorage.from_buffer(data, count=3, offset=2).tolist(),
        lib.ShortStorage.from_buffer(data, "big").tolist(),
        lib.IntStorage.from_buffer(data, "little", 2, 4).tolist(),
        lib.LongStorage.from_buffer(data, byte_order="native").tolist(),
        lib.ComplexFloatStorage.from_buffer(data, "big").tolist(),
        lib.UntypedStorage.from_buffer(data, "big", dtype=lib.int32).tolist(),
    ]


@program("a buffer with too few bytes, or in no order, is refused")
def _(lib: Any) -> Any:
    read = lib.IntStorage.from_buffer
    return [
        outcome(lambda: read(b"12345678", "middle")),
        outcome(lambda: read(b"1234567", "big")),
        outcome(lambda: read(b"12345678", "big", 3)),
        outcome(lambda: read(b"12345678", "big", -1, 9)),
    ]


@program("a storage becomes a tensor that shares its memory")
def _(lib: Any) -> Any:
    storage = lib.arange(4.0).untyped_storage()
    found = []
    for make in (lib.asarray, lib.as_tensor, lib.tensor):
        made = make(storage, dtype=lib.float32)
        made += 1
        found += [made, made.data_ptr() == storage.data_ptr(), make(storage).dtype]
    typed = lib.arange(3.0).storage()
    return [
        found,
        lib.asarray(typed),
        lib.tensor(typed),
        outcome(lambda: lib.asarray(typed, dtype=lib.int32)),
        lib.as_tensor(storage, dtype=lib.uint8, device="meta").shape,
    ]


@pytest.mark.parametrize("name", program)
def test_storages_of_files_and_buffers_are_those_of_pytorch(name: str) -> None:
    assert_same(lambda lib: plain(program[name](lib)))
