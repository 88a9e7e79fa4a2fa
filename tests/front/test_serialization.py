"""``save`` and ``load``."""

import fractions
import io
import math
import os
import pickle
from collections import Counter, OrderedDict

import numpy as np
import pytest
from damaged_files import contents, edited

import dovetail
from dovetail import load, nn, optim, save

safetensors_numpy = pytest.importorskip(
    "safetensors.numpy", reason="the reference implementation of the format"
)


def round_trip(value, **options):
    return load(io.BytesIO(contents(value)), **options)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        12345678901234567890123,
        2.5,
        math.inf,
        -math.inf,
        1 - 2j,
        "text \u00e9",
        b"\x00\xff",
        [1, [2, "x"]],
        (1, (2,), []),
        {"a": 1, 2: "b", (3, 4): None},
        OrderedDict(b=1, a=2),
        {1, 2},
        Counter("aab"),
        dovetail.float32,
        dovetail.device("cpu"),
        dovetail.Size([1, 2]),
        {"tensor": 1, "tuple": [2]},
    ],
    ids=repr,
)
def test_a_plain_value_comes_back_equal_and_of_its_type(value):
    loaded = round_trip(value)
    assert loaded == value
    assert type(loaded) is type(value)


def test_nan_comes_back():
    assert math.isnan(round_trip(math.nan))


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_a_tensor_of_every_dtype_comes_back(name):
    dtype = getattr(dovetail, name)
    tensor = dovetail.tensor([0, 1, 1]).to(dtype)
    loaded = round_trip(tensor)
    assert loaded.dtype == dtype
    assert loaded.tolist() == tensor.tolist()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
def test_a_tensor_of_every_shape_comes_back(shape):
    tensor = dovetail.ones(shape)
    assert round_trip(tensor).shape == shape
    assert round_trip(tensor).tolist() == tensor.tolist()


def test_a_loaded_tensor_is_writable_and_independent():
    tensor = dovetail.ones(2)
    loaded = round_trip(tensor)
    loaded.fill_(5)
    assert tensor.tolist() == [1.0, 1.0]


def test_the_same_tensor_twice_stays_one():
    tensor = dovetail.ones(2)
    a, b = round_trip([tensor, tensor])
    assert a is b


def test_views_keep_sharing_memory_and_are_stored_once():
    base = dovetail.arange(6.0).reshape(2, 3)
    loaded = round_trip(
        {"base": base, "t": base.t(), "row": base[1], "wide": base[:, :1].expand(2, 5)}
    )
    assert loaded["t"].tolist() == base.t().tolist()
    assert loaded["t"].stride() == (1, 3)
    loaded["base"].fill_(7)
    assert loaded["row"].tolist() == [7.0, 7.0, 7.0]
    assert loaded["wide"].tolist() == [[7.0] * 5] * 2
    assert list(safetensors_numpy.load(contents([base, base.t()]))) == ["0"]


def test_a_view_of_another_dtype_keeps_sharing_memory():
    base = dovetail.zeros(2)
    loaded = round_trip([base, base.view(dovetail.int32)])
    loaded[1].fill_(1065353216)
    assert loaded[0].tolist() == [1.0, 1.0]


def test_a_lone_view_brings_its_storage():
    assert round_trip(dovetail.arange(4)[2:]).tolist() == [2, 3]


def test_requires_grad_and_parameters_come_back():
    leaf, parameter, frozen = round_trip(
        [
            dovetail.ones(1, requires_grad=True),
            nn.Parameter(dovetail.ones(1)),
            nn.Parameter(dovetail.ones(1), False),
        ]
    )
    assert type(leaf) is dovetail.Tensor
    assert leaf.requires_grad
    assert isinstance(parameter, nn.Parameter)
    assert parameter.requires_grad
    assert isinstance(frozen, nn.Parameter)
    assert not frozen.requires_grad


def test_a_tensor_inside_a_graph_comes_back_as_a_leaf():
    loaded = round_trip(dovetail.ones(1, requires_grad=True) * 2)
    assert loaded.is_leaf
    assert loaded.requires_grad


def test_shared_and_cyclic_containers_stay_so():
    inner = [1]
    outer = {"a": inner, "b": inner, "c": (inner,)}
    outer["self"] = outer
    loaded = round_trip(outer)
    assert loaded["a"] is loaded["b"] is loaded["c"][0]
    assert loaded["self"] is loaded


def test_a_training_checkpoint_comes_back():
    model = nn.Sequential(nn.Linear(2, 3), nn.PReLU())
    optimizer = optim.Adam(model.parameters())
    model(dovetail.ones(1, 2)).sum().backward()
    optimizer.step()
    loaded = round_trip(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    )
    other = nn.Sequential(nn.Linear(2, 3), nn.PReLU())
    assert repr(other.load_state_dict(loaded["model"])) == "<All keys matched successfully>"
    assert other[0].weight.tolist() == model[0].weight.tolist()
    assert loaded["model"]._metadata == model.state_dict()._metadata
    other_optimizer = optim.Adam(other.parameters())
    other_optimizer.load_state_dict(loaded["optimizer"])
    assert other_optimizer.state[other[0].weight]["step"].item() == 1.0


# Files


def test_other_programs_read_the_file(tmp_path):
    path = tmp_path / "model.safetensors"
    save(nn.Linear(2, 1).state_dict(), path)
    assert {name: array.shape for name, array in safetensors_numpy.load_file(path).items()} == {
        "weight": (1, 2),
        "bias": (1,),
    }


def test_files_of_other_programs_are_read(tmp_path):
    path = tmp_path / "other.safetensors"
    safetensors_numpy.save_file({"a": np.arange(6.0).reshape(2, 3), "n": np.array(3)}, path)
    loaded = load(path)
    assert loaded["a"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert loaded["a"].dtype == dovetail.float64
    assert loaded["n"].item() == 3


def test_saving_replaces_a_file_and_leaves_nothing_else(tmp_path):
    path = str(tmp_path / "x")
    save(1, path)
    os.chmod(path, 0o640)
    save(2, path)
    assert load(path) == 2
    assert os.listdir(tmp_path) == ["x"]
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        save(lambda: None, path)
    assert load(path) == 1
    assert os.listdir(tmp_path) == ["x"]


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "too few for a header"),
        (b"PK\x03\x04" + b"x" * 100, "it is a corrupt zip archive"),
        (b"\x80\x04" + b"x" * 100, "it looks like a pickle"),
        (b"\x08" + bytes(7) + b"{nojson}", "its header is corrupt"),
        (contents([dovetail.ones(3)])[:-3], "it is truncated"),
        (contents([dovetail.ones(3)])[:40], "it is truncated"),
        (contents([dovetail.ones(3)]) + b"x", "has more than the 12 bytes of data"),
        (edited(contents([1]), lambda d: d.pop("root")), "its description has no 'root'"),
        (edited(contents([1]), lambda d: d.update(root={"again": 5})), "integers below 0, not '5'"),
        (
            edited(contents([1]), lambda d: d.update(root={"eval": "1"})),
            "'eval' is no kind of object",
        ),
        (
            edited(contents([1]), lambda d: d.update(root={"dtype": "save"})),
            "should be the name of a dtype, not 'save'",
        ),
        (
            edited(contents(dovetail.ones(3)), lambda d: d["tensors"][0].update(shape=[4])),
            "reaches to element 3",
        ),
        (
            edited(contents(dovetail.ones(3)), lambda d: d["tensors"][0].update(offset=-1)),
            "non-negative integers",
        ),
    ],
    ids=range(13),
)
def test_a_damaged_or_foreign_file_is_named_with_what_is_wrong(tmp_path, content, problem):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=problem) as caught:
        load(path)
    assert "bad.safetensors" in str(caught.value)
    assert "Save it again" in str(caught.value)


# Other objects


def test_other_objects_need_weights_only_false():
    with pytest.raises(
        pickle.UnpicklingError,
        match=r"Weights only load failed.*fractions\.Fraction.*weights_only=False",
    ):
        round_trip([fractions.Fraction(1, 3)])
    assert round_trip([fractions.Fraction(1, 3)], weights_only=False) == [fractions.Fraction(1, 3)]


def test_a_whole_module_comes_back_sharing_its_parameters():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    loaded, weight = round_trip([model, model[0].weight], weights_only=False)
    assert loaded[0].weight is weight
    assert loaded(dovetail.ones(1, 2)).tolist() == model(dovetail.ones(1, 2)).tolist()


def test_without_other_objects_nothing_is_pickled():
    assert b"__pickle__" not in contents({"a": dovetail.ones(1)})


# Devices


@pytest.mark.cpu_only(reason="the locations are those of the cpu")
@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        dovetail.device("cpu"),
        {"cpu": "cpu"},
        {},
        lambda storage, name: storage,
        lambda storage, name: None,
    ],
    ids=["name", "device", "mapping", "empty mapping", "function", "function giving None"],
)
def test_map_location_chooses_the_device(where):
    assert round_trip(dovetail.ones(1), map_location=where).device.type == "cpu"


def test_map_location_moves_to_another_device():
    assert round_trip(dovetail.ones(1), map_location="meta").is_meta
    assert round_trip(dovetail.ones(1), map_location={str(dovetail.ones(1).device): "meta"}).is_meta


def test_programs_that_ask_for_the_format_of_old_save_as_others(tmp_path) -> None:
    path = tmp_path / "old.pt"
    dovetail.save({"x": dovetail.ones(2)}, path, _use_new_zipfile_serialization=False)
    assert dovetail.load(path)["x"].tolist() == [1.0, 1.0]
