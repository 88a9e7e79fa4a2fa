"""`PyTorchFileReader` finds in a file of ``torch.save`` what PyTorch's finds."""

from __future__ import annotations

import io

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="files are read on the host")


@pytest.fixture
def data() -> bytes:
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(3.0), "b": torch.ones(2, dtype=torch.int64)}, buffer)
    return buffer.getvalue()


def test_records_are_those_of_torch(data: bytes) -> None:
    want = torch.PyTorchFileReader(io.BytesIO(data))
    got = dovetail.PyTorchFileReader(io.BytesIO(data))
    assert got.get_all_records() == want.get_all_records()
    assert got.serialization_id() == want.serialization_id()
    for name in want.get_all_records():
        assert got.get_record(name) == want.get_record(name)
        assert got.get_record_size(name) == want.get_record_size(name)
    assert got.has_record("data.pkl")
    assert not got.has_record("else")


def test_a_record_is_a_vector(data: bytes) -> None:
    got = dovetail.PyTorchFileReader(io.BytesIO(data))
    assert got.get_storage_from_record("data/0", 3, dovetail.float32).tolist() == [0, 1, 2]
    raw = got.get_storage_from_record("data/1", 16, dovetail.UntypedStorage)
    assert raw.dtype is dovetail.uint8
    assert raw.view(dovetail.int64).tolist() == [1, 1]
    assert len(raw._typed_storage()._untyped_storage) == 16
    with pytest.raises(RuntimeError, match=r"record size \(12 bytes\) does not match"):
        got.get_storage_from_record("data/0", 4, dovetail.float32)


def test_what_cannot_be_read_says_so(data: bytes, tmp_path) -> None:
    with pytest.raises(RuntimeError, match=r"open file failed.*Check the path"):
        dovetail.PyTorchFileReader(str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match=r"failed reading zip archive.*Give a file of"):
        dovetail.PyTorchFileReader(io.BytesIO(b"no archive"))
    with pytest.raises(
        RuntimeError, match=r"locating file x: file not found\. There are: data.pkl"
    ):
        dovetail.PyTorchFileReader(io.BytesIO(data)).get_record("x")
    damaged = bytearray(data)
    place = data.index(torch.arange(3.0).numpy().tobytes())
    damaged[place + 5] ^= 1
    reader = dovetail.PyTorchFileReader(io.BytesIO(bytes(damaged)))
    with pytest.raises(RuntimeError, match=r"checksum is another one\. Save the file anew"):
        reader.get_record("data/0")


def test_a_file_is_closed_with_its_reader(data: bytes, tmp_path) -> None:
    file = tmp_path / "saved.pt"
    file.write_bytes(data)
    reader = dovetail.PyTorchFileReader(file)
    stream = reader._archive._source.stream
    assert reader.get_record_size("data/0") == 12
    del reader
    assert stream.closed


def test_a_record_without_bytes_is_an_empty_vector() -> None:
    buffer = io.BytesIO()
    torch.save(torch.ones(0), buffer)
    got = dovetail.PyTorchFileReader(buffer).get_storage_from_record("data/0", 0, dovetail.float32)
    assert got.shape == (0,)
    assert got.dtype is dovetail.float32
