"""Files of ``torch.save`` are read here, and those of ``save(format="torch")`` by PyTorch."""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = [
    pytest.mark.cpu_only(reason="PyTorch is there on the cpu alone"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def written(value: Any, **options: Any) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    stream.seek(0)
    return stream


def model(lib: Any) -> Any:
    """A convolutional front and an LSTM."""
    nn = lib.nn

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.front = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
            self.memory = nn.LSTM(4 * 6, 5, batch_first=True)
            self.head = nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            seen = self.front(x).permute(0, 2, 1, 3).flatten(2)
            return self.head(self.memory(seen)[0][:, -1])

    return Model()


@pytest.mark.skipif(not hasattr(dovetail.nn, "LSTM"), reason="there is no LSTM module yet")
def test_a_model_trained_in_pytorch_gives_the_same_here() -> None:
    torch.manual_seed(0)
    trained = model(torch)
    optimizer = torch.optim.Adam(trained.parameters())
    images = torch.randn(6, 1, 8, 8)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(trained(images), torch.arange(6) % 3).backward()
        optimizer.step()
    trained.eval()
    ours = model(dovetail)
    ours.load_state_dict(dovetail.load(written(trained.state_dict())))
    ours.eval()
    found = ours(dovetail.from_numpy(images.numpy()))
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), trained(images).detach().cpu().numpy(), 1e-5, 1e-6
    )
    stream = io.BytesIO()
    dovetail.save(ours.state_dict(), stream, format="torch")
    stream.seek(0)
    again = model(torch)
    again.load_state_dict(torch.load(stream, weights_only=True))
    assert torch.equal(again.eval()(images), trained(images))


@pytest.mark.parametrize(
    "options", [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}], ids=str
)
def test_everything_that_pytorch_loads_by_weights_only_is_read(options: dict[str, Any]) -> None:
    base = torch.arange(6.0).reshape(2, 3)
    named = torch.ones(2)
    named.note = ["text"]
    parameters = [torch.nn.Parameter(base[0]), torch.nn.Parameter(base[1], requires_grad=False)]
    module = torch.nn.BatchNorm1d(2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    value = {
        "base": base,
        "view": base.t()[1:],
        "expanded": base[0, :1].expand(5),
        "empty": torch.zeros(0, 3),
        "parameters": parameters,
        "leaf": torch.ones(2, requires_grad=True),
        "same": [base, base],
        "conj": torch.tensor([1 + 2j]).conj(),
        "neg": torch.tensor([1 + 2j]).conj().imag,
        "named": named,
        "plain": [None, True, 1.5, 10**30, "é", b"", b"\xff", bytearray(b"x"), {1, (2, 3)}, 1j],
        "counter": Counter("aab"),
        "state": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "kinds": [torch.float32, torch.device("cpu"), torch.Size([1, 2])],
        "storage": torch.ones(3)._typed_storage(),
    }
    loaded = dovetail.load(written(value, **options))
    for name in ("base", "view", "expanded", "empty", "leaf", "conj", "neg", "named"):
        assert loaded[name].tolist() == value[name].tolist(), name
        assert loaded[name].dtype.name == str(value[name].dtype)[6:]
        assert loaded[name].requires_grad == value[name].requires_grad
        if name not in ("conj", "neg"):  # bits of a view there, and here a new tensor
            assert loaded[name].stride() == value[name].stride()
    storage = loaded["base"].untyped_storage()
    assert loaded["view"].untyped_storage() is storage
    assert [p.untyped_storage() is storage for p in loaded["parameters"]] == [True, True]
    assert [p.requires_grad for p in loaded["parameters"]] == [True, False]
    assert loaded["same"][0] is loaded["same"][1] is loaded["base"]
    assert loaded["named"].note == ["text"]
    assert loaded["plain"] == value["plain"]
    assert loaded["counter"] == value["counter"]
    assert loaded["state"]._metadata == value["state"]._metadata
    assert loaded["optimizer"]["param_groups"] == value["optimizer"]["param_groups"]
    assert loaded["kinds"] == [dovetail.float32, dovetail.device("cpu"), dovetail.Size([1, 2])]
    assert list(loaded["storage"]) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_both_ways(dtype: str) -> None:
    theirs = torch.tensor([0, 1, 1, 0]).to(getattr(torch, dtype))
    loaded = dovetail.load(written([theirs, theirs.reshape(2, 2)[:, 1]]))
    assert [each.dtype.name for each in loaded] == [dtype, dtype]
    assert loaded[1].tolist() == theirs.reshape(2, 2)[:, 1].tolist()
    stream = io.BytesIO()
    dovetail.save(loaded, stream, format="torch")
    stream.seek(0)
    back = torch.load(stream, weights_only=True)
    assert [each.dtype for each in back] == [theirs.dtype] * 2
    assert torch.equal(back[0], theirs)
    assert back[0].untyped_storage().data_ptr() == back[1].untyped_storage().data_ptr()


def test_pytorch_reads_what_is_written_here() -> None:
    base = dovetail.arange(6.0).reshape(2, 3)
    value = {
        "view": base.t()[1:],
        "base": base,
        "bits": base.view(dovetail.int32),
        "parameter": dovetail.nn.Parameter(base[0], requires_grad=False),
        "leaf": dovetail.ones(2, requires_grad=True),
        "plain": [None, True, 1.5, 10**30, "é", b"", b"\xff", bytearray(b"x"), {1, (2, 3)}, 1j],
        "counter": Counter("aab"),
        "kinds": [dovetail.float32, dovetail.device("cpu"), dovetail.Size([1, 2])],
        "state": dovetail.nn.BatchNorm1d(2).state_dict(),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        dovetail.save(value, path, format="torch")
        for options in ({}, {"mmap": True}):
            loaded = torch.load(path, weights_only=True, **options)
            for name in ("view", "base", "bits", "parameter", "leaf"):
                assert loaded[name].tolist() == value[name].tolist()
                assert loaded[name].stride() == value[name].stride()
                assert loaded[name].requires_grad == value[name].requires_grad
                assert type(loaded[name]).__name__ == type(value[name]).__name__
            pointers = {
                loaded[name].untyped_storage().data_ptr()
                for name in ("view", "base", "bits", "parameter")
            }
            assert len(pointers) == 1
            assert loaded["plain"] == value["plain"]
            assert loaded["counter"] == value["counter"]
            assert loaded["kinds"] == [torch.float32, torch.device("cpu"), torch.Size([1, 2])]
            assert loaded["state"]._metadata == value["state"]._metadata


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: torch.ones(2, 2).to_sparse_csr(), "torch.sparse_csr"),
        (lambda: torch.ones(2).to(torch.float8_e4m3fn), "torch.float8_e4m3fn"),
        (lambda: torch.nested.as_nested_tensor([torch.ones(2)]), "a nested tensor"),
    ],
    ids=["sparse", "float8", "nested"],
)
@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning", "ignore:Sparse CSR:UserWarning")
def test_tensors_that_are_not_here_are_refused_with_a_way_out(make: Any, named: str) -> None:
    with pytest.raises(RuntimeError, match="can't load") as caught:
        dovetail.load(written(make()))
    assert named in str(caught.value)
    assert "save the state_dict() again" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("is_coalesced", [True, False])
def test_sparse_tensors_go_both_ways(is_coalesced: bool) -> None:
    def value(lib: Any) -> Any:
        made = lib.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [1.0, 2.0, -3.0], (2, 3))
        return {"s": made.coalesce() if is_coalesced else made}

    files = []
    for format in ("torch", "safetensors"):
        files.append(io.BytesIO())
        dovetail.save(value(dovetail), files[-1], format=format)
        files[-1].seek(0)
    there = torch.load(files[0], weights_only=True)["s"]
    here = [dovetail.load(written(value(torch)))["s"], dovetail.load(files[1])["s"]]
    for each in (there, *here):
        assert each.is_coalesced() == is_coalesced
        assert each._indices().tolist() == value(torch)["s"]._indices().tolist()
        assert each._values().tolist() == value(torch)["s"]._values().tolist()
        assert tuple(each.shape) == (2, 3)


def test_what_a_program_saves_as_torch_is_read_by_torch() -> None:
    with dovetail.as_torch() as lib:
        stream, other = io.BytesIO(), io.BytesIO()
        lib.save({"w": lib.ones(2)}, stream)
        with pytest.warns(UserWarning, match=r"torch\.load does not: .*Linear"):
            lib.save(lib.nn.Linear(2, 2), other)
        other.seek(0)
        assert type(lib.load(other, weights_only=False)) is dovetail.nn.Linear
    stream.seek(0)
    assert torch.load(stream, weights_only=True)["w"].tolist() == [1.0, 1.0]
    assert dovetail.serialization.get_default_save_format() == "safetensors"


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_program_of_torchscript_is_named(tmp_path: Path) -> None:
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "m.pt"))
    with pytest.raises(RuntimeError, match="TorchScript"):
        dovetail.load(tmp_path / "m.pt")


def test_a_whole_module_needs_weights_only_false_and_is_then_looked_for_here() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    import pickle

    with pytest.raises(pickle.UnpicklingError, match=r"torch.nn.modules.*state_dict\(\)"):
        dovetail.load(written(module))
    loaded = dovetail.load(written(module), weights_only=False)
    assert type(loaded) is dovetail.nn.Sequential
    x = torch.randn(4, 2)
    found = loaded(dovetail.from_numpy(x.numpy()))
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), module(x).detach().cpu().numpy(), 1e-5, 1e-6
    )


def test_a_file_without_checksums_is_read() -> None:
    before = torch.serialization.get_crc32_options()
    try:
        torch.serialization.set_crc32_options(False)
        assert dovetail.load(written(torch.ones(3))).tolist() == [1.0, 1.0, 1.0]
    finally:
        torch.serialization.set_crc32_options(before)


def test_the_globals_that_pytorch_allows_are_known_here() -> None:
    """Every name that PyTorch's own restricted unpickler takes is read, or refused by a reason."""
    from torch._weights_only_unpickler import _get_allowed_globals

    from dovetail.serialization.checked_json import FormatError
    from dovetail.serialization.torch_format.torch_globals import global_named

    unknown = []
    for full in _get_allowed_globals():
        module, _, name = full.rpartition(".")
        try:
            if global_named(module, name) is None:
                unknown.append(full)
        except FormatError:
            pass
    assert unknown == []


def with_attributes(lib: Any) -> Any:
    """Return tensors to which a program gave attributes."""
    x, weight = lib.zeros(2), lib.nn.Parameter(lib.ones(2))
    x.origin = "a program"
    weight.group = [x, 3]
    return [x, {"weight": weight}, x]


def attributes_of(read: Any) -> Any:
    x, held, again = read
    group = held["weight"].group
    return x.origin, group[0] is x, group[1], again is x, type(held["weight"]).__name__


@pytest.mark.parametrize("weights_only", [True, False])
def test_attributes_of_tensors_are_in_files_as_there(weights_only: bool) -> None:
    expected = attributes_of(torch.load(written(with_attributes(torch)), weights_only=weights_only))
    for form in ("torch", "dovetail"):
        stream = io.BytesIO()
        options: Any = {"format": "torch"} if form == "torch" else {}
        dovetail.save(with_attributes(dovetail), stream, **options)
        stream.seek(0)
        assert attributes_of(dovetail.load(stream, weights_only=weights_only)) == expected
        if form == "torch":
            stream.seek(0)
            assert attributes_of(torch.load(stream, weights_only=weights_only)) == expected
    assert attributes_of(dovetail.load(written(with_attributes(torch)))) == expected


class Holder:
    """Holds tensors, and is pickled."""


def test_attributes_of_tensors_in_pickled_objects_are_in_files() -> None:
    holder = Holder()
    x, held, _ = with_attributes(dovetail)
    holder.held = [held["weight"], held["weight"], x]  # type: ignore[attr-defined]
    for weights_only in (True, False):
        stream = io.BytesIO()
        dovetail.save([holder, x], stream)
        stream.seek(0)
        with dovetail.serialization.safe_globals([Holder]):
            read, again = dovetail.load(stream, weights_only=weights_only)
        first, second, third = read.held
        assert first is second
        assert first.group[0] is third is again
        assert again.origin == "a program"


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"map_location": "cpu"}])
def test_tensors_without_memory_go_both_ways(options: dict[str, Any]) -> None:
    def described(tensor: Any) -> tuple[Any, ...]:
        kind, dtype = type(tensor).__name__, str(tensor.dtype).rpartition(".")[2]
        facts = tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.requires_grad
        return (kind, dtype, str(tensor.device), *facts)

    def made(lib: Any) -> list[Any]:
        whole = lib.empty(4, 3, device="meta", dtype=lib.float64)
        turned = lib.nn.Parameter(lib.empty(2, 3, device="meta").t())
        return [whole, turned, whole[1:], lib.empty((0, 2), device="meta", dtype=lib.bool)]

    def read(lib: Any, stream: io.BytesIO) -> list[Any]:
        stream.seek(0)
        return [described(each) for each in lib.load(stream, **options)]

    streams = [io.BytesIO() for _ in range(3)]
    torch.save(made(torch), streams[0])
    dovetail.save(made(dovetail), streams[1], format="torch")
    dovetail.save(made(dovetail), streams[2])
    expected = read(torch, streams[0])
    assert read(dovetail, streams[0]) == read(torch, streams[1]) == expected
    assert read(dovetail, streams[1]) == read(dovetail, streams[2]) == expected


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("options", [{}, {"weights_only": False}])
def test_storages_are_saved_and_show_the_memory_of_their_tensors(options: dict[str, Any]) -> None:
    def read(lib: Any, stream: io.BytesIO) -> list[Any]:
        stream.seek(0)
        whole, typed, part = lib.load(stream, **options)
        whole[0] = 9
        same = typed.data_ptr() == whole.data_ptr()
        return [whole.tolist(), type(typed).__name__, typed.tolist(), part.tolist(), same]

    def made(lib: Any) -> list[Any]:
        whole = lib.arange(4.0, device="cpu")
        return [whole, whole.storage(), whole[1:]]

    streams = [io.BytesIO() for _ in range(3)]
    torch.save(made(torch), streams[0])
    dovetail.save(made(dovetail), streams[1], format="torch")
    dovetail.save(made(dovetail), streams[2])
    expected = read(torch, streams[0])
    assert read(dovetail, streams[0]) == read(torch, streams[1]) == expected
    assert read(dovetail, streams[1]) == read(dovetail, streams[2]) == expected
    raw = io.BytesIO()
    dovetail.save(dovetail.arange(2, dtype=dovetail.int16, device="cpu").untyped_storage(), raw)
    raw.seek(0)
    assert list(dovetail.load(raw, **options)) == [0, 0, 1, 0]


@pytest.mark.filterwarnings("ignore:pickle_load_args only works")
@pytest.mark.parametrize("encoding", ["utf-8", "bytes"])
def test_an_old_file_of_python_2_is_read(encoding: str) -> None:
    def strings(content: bytes) -> bytes:  # as Python 2 wrote them
        return content.replace(b"X\x07\x00\x00\x00storage", b"U\x07storage").replace(
            b"X\x03\x00\x00\x00cpu", b"U\x03cpu"
        )

    stream = io.BytesIO()
    torch.save([torch.zeros(1), 2], stream, _use_new_zipfile_serialization=False)
    old = strings(stream.getvalue())
    assert old != stream.getvalue()
    loaded = [lib.load(io.BytesIO(old), encoding=encoding) for lib in (dovetail, torch)]
    assert [each[0].tolist() for each in loaded] == [[0.0], [0.0]]
