"""`save(format="torch")`, `load` of what it writes, `mmap`, `load_file` and `save_file`."""

import io
import pickle
import zipfile
from collections import Counter, OrderedDict

import pytest
from torch_pickles import legacy, records, torch_contents

import dovetail
from dovetail import nn
from dovetail.serialization import load_file, save_file

safetensors_numpy = pytest.importorskip(
    "safetensors.numpy", reason="the reference implementation of the format"
)


@pytest.mark.parametrize("written", ["zip", "legacy"])
def test_a_checkpoint_comes_back_with_what_is_shared(written):
    base = dovetail.arange(6.0).reshape(2, 3)
    value = {
        "base": base,
        "view": base.t()[1:],
        "parameter": nn.Parameter(base[0]),
        "frozen": nn.Parameter(dovetail.ones(2), requires_grad=False),
        "leaf": dovetail.ones(2, requires_grad=True),
        "same": [base, base],
        "others": [{1, (2, 3)}, Counter("aab"), b"", b"\xff", bytearray(b"x"), 1j, 10**30],
        "kinds": (dovetail.bfloat16, dovetail.device("cpu"), dovetail.Size([1, 2])),
        "state": nn.BatchNorm1d(2).state_dict(),
    }
    content = torch_contents(value)
    loaded = dovetail.load(io.BytesIO(content if written == "zip" else legacy(content)))
    for name in ("base", "view", "parameter", "frozen", "leaf"):
        assert loaded[name].tolist() == value[name].tolist()
        assert loaded[name].stride() == value[name].stride()
        assert loaded[name].requires_grad == value[name].requires_grad
        assert type(loaded[name]) is type(value[name])
    storage = loaded["base"].untyped_storage()
    assert loaded["view"].untyped_storage() is storage
    assert loaded["parameter"].untyped_storage() is storage
    assert loaded["same"][0] is loaded["same"][1] is loaded["base"]
    assert loaded["others"] == value["others"]
    assert loaded["kinds"] == value["kinds"]
    assert type(loaded["state"]) is OrderedDict
    assert loaded["state"]._metadata == value["state"]._metadata


DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    tensor = dovetail.tensor([0, 1, 1]).to(getattr(dovetail, dtype))
    loaded = dovetail.load(io.BytesIO(torch_contents(tensor)))
    assert loaded.dtype is tensor.dtype
    assert loaded.tolist() == tensor.tolist()


def test_an_object_that_is_no_data_is_refused_and_the_file_stays(tmp_path):
    path = tmp_path / "model.pt"
    dovetail.save([1], path, format="torch")
    with pytest.raises(pickle.PicklingError, match=r"can't save a dovetail.nn.*format='torch'"):
        dovetail.save({"model": nn.Linear(1, 1)}, path, format="torch")
    with pytest.raises(pickle.PicklingError, match="an integer of 3322 bits"):
        dovetail.save(10**1000, path, format="torch")
    assert dovetail.load(path) == [1]


def test_another_format_or_pickle_module_is_refused():
    for options, reason in [
        ({"format": "pickle"}, "should be 'safetensors' or 'torch'"),
        ({"pickle_module": io}, "pickle_module should be pickle"),
        ({"pickle_protocol": 9}, "pickle_protocol should be at most"),
    ]:
        with pytest.raises(ValueError, match=reason):
            dovetail.save([1], io.BytesIO(), **options)
    stream = io.BytesIO()
    dovetail.save([1], stream, pickle, 4)
    stream.seek(0)
    assert dovetail.load(stream, None, pickle) == [1]


def test_equal_objects_make_equal_files_whose_storages_are_aligned():
    value = {"a": dovetail.ones(3), "b": dovetail.ones(100)}
    content = torch_contents(value)
    assert content == torch_contents(value)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            start = info.header_offset + 30
            name, extra = [
                int.from_bytes(content[start - 4 + i : start - 2 + i], "little") for i in (0, 2)
            ]
            assert (start + name + extra) % 64 == 0


@pytest.mark.parametrize("format", ["torch", "safetensors"])
def test_a_mapped_file_is_read_when_used_and_never_written(tmp_path, format):
    path = tmp_path / "file"
    base = dovetail.arange(6.0)
    dovetail.save({"base": base, "view": base[2:]}, path, format=format)
    mapped = dovetail.load(path, mmap=True)
    assert mapped["base"].tolist() == base.tolist()
    mapped["base"][2] = 9
    assert mapped["view"][0] == 9
    assert dovetail.load(path)["base"].tolist() == base.tolist()
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap"):
        dovetail.load(io.BytesIO(path.read_bytes()), mmap=True)
    with pytest.raises(RuntimeError, match="can't load"):
        path.write_bytes(b"")
        dovetail.load(path, mmap=True)


def test_a_legacy_file_is_not_mapped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(legacy(torch_contents([dovetail.ones(2)])))
    with pytest.raises(RuntimeError, match="the format before zip archives, which has no mmap"):
        dovetail.load(path, mmap=True)


def test_several_legacy_objects_in_one_stream_are_read_one_after_the_other():
    contents = [legacy(torch_contents([number, dovetail.ones(number)])) for number in (1, 2)]
    stream = io.BytesIO(b"".join(contents))
    assert [dovetail.load(stream)[0] for _ in contents] == [1, 2]


def test_bytes_of_the_other_order_are_turned_around():
    from torch_pickles import archive

    numbers = dovetail.tensor([1.5, -2.0])
    parts = records(torch_contents([numbers, numbers.to(dovetail.complex128) * 1j]))
    import numpy as np

    parts["byteorder"] = b"big"
    for name, step in (("data/0", 4), ("data/1", 8)):
        parts[name] = np.frombuffer(parts[name], f"u{step}").byteswap().tobytes()
    loaded = dovetail.load(io.BytesIO(archive(parts)))
    assert loaded[0].tolist() == [1.5, -2.0]
    assert loaded[1].tolist() == [1.5j, -2j]


def test_map_location_has_every_form():
    content = torch_contents({"a": dovetail.ones(2)})
    names = []

    def same(storage, name):
        names.append((storage.nbytes(), name))
        return storage

    def declined(storage, name):
        return None

    device = str(dovetail.ones(1).device)
    for where, expected in [
        ("meta", "meta"),
        (dovetail.device("meta"), "meta"),
        ({device: "meta"}, "meta"),
        ({"elsewhere": "meta"}, device),
        (declined, device),
    ]:
        assert str(dovetail.load(io.BytesIO(content), where)["a"].device) == expected
    assert dovetail.load(io.BytesIO(content), same)["a"].tolist() == [1.0, 1.0]
    assert names == [(8, device)]
    with pytest.raises(TypeError, match="map_location should be None, a device"):
        dovetail.load(io.BytesIO(content), 5)
    with pytest.raises(TypeError, match="should return a storage of 8 bytes"):
        dovetail.load(io.BytesIO(content), lambda storage, name: "cpu")


def test_save_file_and_load_file_are_those_of_the_safetensors_library(tmp_path):
    path = tmp_path / "t.safetensors"
    save_file({"a": dovetail.arange(6).reshape(2, 3), "b": dovetail.ones(())}, path, {"k": "v"})
    read = safetensors_numpy.load_file(path)
    assert {name: array.tolist() for name, array in read.items()} == {
        "a": [[0, 1, 2], [3, 4, 5]],
        "b": 1.0,
    }
    safetensors_numpy.save_file(read, path)
    loaded = load_file(path)
    assert loaded["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert load_file(path, device="meta")["a"].is_meta


@pytest.mark.parametrize(
    ("tensors", "error", "reason"),
    [
        ([], ValueError, "Expected a dict"),
        ({"a": 5}, ValueError, "Key `a` is invalid, expected dovetail.Tensor"),
        ({5: dovetail.ones(1)}, ValueError, "5 is no name"),
        ({"a": dovetail.ones(2, 3).t()}, ValueError, "non contiguous tensor: `a`"),
        ({"a": dovetail.ones(1, dtype=dovetail.complex128)}, ValueError, "has no name for"),
        (dict.fromkeys("ab", dovetail.ones(2)), RuntimeError, "'a' and 'b'"),
    ],
    ids=range(6),
)
def test_save_file_refuses_what_the_format_does_not_hold(tmp_path, tensors, error, reason):
    with pytest.raises(error, match=reason):
        save_file(tensors, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_load_file_says_what_is_wrong_with_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"PK\3\4 and more")
    with pytest.raises(RuntimeError, match="a zip archive"):
        load_file(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"import dovetail\n" * 30, "text"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "numpy.load"),
        (b"\x89HDF\r\n\x1a\n\x00\x00", "HDF5"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00", "gzip"),
    ],
)
def test_load_names_the_kind_of_a_file_that_is_no_checkpoint(tmp_path, content, kind):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=kind):
        dovetail.load(path)
