"""Initialisers, layers, files and gradcheck on arrays that cannot be written, and have no address:
the values are those of arrays that can, and what is made shares its memory with nothing else.
"""

from __future__ import annotations

import copy
import gc
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_arrays import FrozenArrays, unwritten_and_written

import dovetail
from dovetail import Tensor, nn
from dovetail.autograd import forward_ad
from dovetail.backends import register_backend
from dovetail.library import _scoped_library
from dovetail.nn import init
from dovetail.serialization import load_file, save_file

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")


@pytest.fixture(scope="module")
def devices() -> tuple[str, str]:
    """Two devices of NumPy's arrays: one that cannot be written, and one that can."""
    return unwritten_and_written()


INITIALISERS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "uniform_": (init.uniform_, (4, 3)),
    "normal_": (init.normal_, (4, 3)),
    "constant_": (lambda t: init.constant_(t, 2.5), (4, 3)),
    "ones_": (init.ones_, (4, 3)),
    "zeros_": (init.zeros_, (4, 3)),
    "xavier_uniform_": (init.xavier_uniform_, (4, 3)),
    "xavier_normal_": (init.xavier_normal_, (4, 3)),
    "kaiming_uniform_": (init.kaiming_uniform_, (4, 3)),
    "kaiming_normal_": (init.kaiming_normal_, (4, 3)),
    "trunc_normal_": (init.trunc_normal_, (4, 3)),
    "eye_": (init.eye_, (4, 3)),
    "dirac_": (init.dirac_, (4, 3, 3)),
    "dirac_ of groups": (lambda t: init.dirac_(t, 2), (4, 3, 3)),
    "orthogonal_, tall": (init.orthogonal_, (4, 3)),
    "orthogonal_, wide": (init.orthogonal_, (3, 4)),
    "sparse_": (lambda t: init.sparse_(t, 0.3), (6, 3)),
}


def test_every_initialiser_is_tried() -> None:
    named = {name for name in dir(init) if name.endswith("_") and not name.startswith("_")}
    assert {name.partition(" ")[0].rstrip(",") for name in INITIALISERS} == named


@pytest.mark.parametrize("name", INITIALISERS)
def test_an_initialiser_gives_the_values_of_arrays_that_can_be_written(
    devices: tuple[str, str], name: str
) -> None:
    initialise, shape = INITIALISERS[name]
    found = []
    for device in devices:
        dovetail.manual_seed(7)
        weight = dovetail.full(shape, 9.0, device=device, requires_grad=True)
        assert initialise(weight) is weight
        assert weight.is_leaf and weight.requires_grad and weight._base is None
        found.append(weight.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("name", INITIALISERS)
def test_an_initialiser_leaves_no_tensor_that_shares_the_memory(
    devices: tuple[str, str], name: str
) -> None:
    initialise, shape = INITIALISERS[name]
    weight = dovetail.full(shape, 9.0, device=devices[0], requires_grad=True)
    before = weight.detach().clone()
    initialise(weight)
    storage = weight.untyped_storage()
    gc.collect()
    sharing = [
        each
        for each in gc.get_objects()
        if issubclass(type(each), Tensor)
        and each is not weight
        and each.device == weight.device
        and each.untyped_storage() is storage
    ]
    assert not sharing
    values, initial = weight.detach().clone(), before.tolist()
    with dovetail.no_grad():
        weight.mul_(2)  # a write to memory that something else shows would be refused, or seen
    assert weight.tolist() == (values * 2).tolist()
    assert before.tolist() == initial


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "Linear": lambda: nn.Linear(3, 4),
    "Bilinear": lambda: nn.Bilinear(3, 4, 2),
    "Conv2d": lambda: nn.Conv2d(2, 4, 3, groups=2),
    "ConvTranspose1d": lambda: nn.ConvTranspose1d(2, 4, 3),
    "Embedding": lambda: nn.Embedding(5, 3, padding_idx=1),
    "EmbeddingBag": lambda: nn.EmbeddingBag(5, 3, padding_idx=1),
    "BatchNorm1d": lambda: nn.BatchNorm1d(3),
    "LayerNorm": lambda: nn.LayerNorm(3),
    "PReLU": nn.PReLU,
    "LSTM": lambda: nn.LSTM(3, 4, 2, bidirectional=True),
    "MultiheadAttention": lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2, 8),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_made_alike_and_each_parameter_has_memory_of_its_own(
    devices: tuple[str, str], name: str
) -> None:
    states = []
    for device in devices:
        dovetail.manual_seed(7)
        with dovetail.device(device):
            layer = LAYERS[name]()
        states.append({key: each.tolist() for key, each in layer.state_dict().items()})
        state = dict(layer.named_parameters()) | dict(layer.named_buffers())
        storages = {id(each.untyped_storage()): each for each in state.values()}
        assert len(storages) == len(state)
        for key, each in state.items():
            others = {other: state[other].tolist() for other in state if other != key}
            with dovetail.no_grad():
                each.add_(1)
            assert {other: state[other].tolist() for other in others} == others
    assert states[0] == states[1]


def test_copies_of_a_model_share_nothing_with_it(devices: tuple[str, str]) -> None:
    with dovetail.device(devices[0]):
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    twin = copy.deepcopy(model)
    twin.load_state_dict(model.state_dict())
    before = {key: each.tolist() for key, each in model.state_dict().items()}
    with dovetail.no_grad():
        for each in twin.parameters():
            each.zero_()
    assert {key: each.tolist() for key, each in model.state_dict().items()} == before


# -- files -----------------------------------------------------------------------------------------


def roundtrips(value: Any, folder: Path) -> dict[str, Any]:
    """Return what the ways of saving make of a dict of tensors, by name."""
    found: dict[str, Any] = {
        "deepcopy": copy.deepcopy(value),
        "pickle": pickle.loads(pickle.dumps(value)),
    }
    for form in ("safetensors", "torch"):
        stream = io.BytesIO()
        dovetail.save(value, stream, format=form)
        stream.seek(0)
        found[form] = dovetail.load(stream, map_location="cpu")
    return found


def test_tensors_of_one_size_are_saved_each(devices: tuple[str, str], tmp_path: Path) -> None:
    value = {
        name: dovetail.full((2, 3), float(number), device=devices[0])
        for number, name in enumerate("abc")
    }
    expected = {name: each.tolist() for name, each in value.items()}
    for way, loaded in roundtrips(value, tmp_path).items():
        assert {name: each.tolist() for name, each in loaded.items()} == expected, way
    save_file(value, tmp_path / "file.safetensors")
    loaded = load_file(tmp_path / "file.safetensors")
    assert {name: each.tolist() for name, each in loaded.items()} == expected


def test_views_and_what_they_are_of_are_saved_with_their_values(
    devices: tuple[str, str], tmp_path: Path
) -> None:
    x = dovetail.arange(6.0, device=devices[0]).reshape(2, 3)
    value = {"columns": x.t(), "x": x, "row": x[1], "again": x.detach()}
    expected = {name: each.tolist() for name, each in value.items()}
    for way, loaded in roundtrips(value, tmp_path).items():
        assert {name: each.tolist() for name, each in loaded.items()} == expected, way


def test_one_tensor_twice_is_stored_once(devices: tuple[str, str]) -> None:
    x = dovetail.ones(1000, device=devices[0])
    sizes = []
    for value in ({"x": x}, {"x": x, "y": x.detach()}, {"x": x, "y": x.clone()}):
        stream = io.BytesIO()
        dovetail.save(value, stream)
        sizes.append(len(stream.getvalue()))
    assert sizes[1] - sizes[0] < 1000 < 4000 <= sizes[2] - sizes[0]


def test_a_tensor_of_another_array_is_not_set_to_it(devices: tuple[str, str]) -> None:
    x, y = (dovetail.ones(3, device=devices[0]) for _ in range(2))
    assert x.is_set_to(x.detach())
    assert not x.is_set_to(y)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_is_written_like_what_it_was_made_of(
    devices: tuple[str, str], way: Callable[[Any], Any]
) -> None:
    x = dovetail.arange(6.0, device=devices[0]).reshape(2, 3).clone().requires_grad_()
    y, same = way([x, x.detach()])
    y.data[0] = 7
    assert y.tolist() == same.tolist() == [[7, 7, 7], [3, 4, 5]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with dovetail.no_grad():
        y.mul_(2)
    assert y.tolist() == same.tolist() == [[14, 14, 14], [6, 8, 10]]


# -- gradcheck -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", [dovetail.float64, dovetail.complex128])
def test_gradcheck_perturbs_copies(
    devices: tuple[str, str], fast: bool, kind: dovetail.dtype
) -> None:
    x = dovetail.tensor([0.5, -1.5], dtype=kind, device=devices[0], requires_grad=True)
    assert dovetail.autograd.gradcheck(
        lambda x: (x * x).exp(), x, fast_mode=fast, check_forward_ad=True
    )
    assert x.tolist() == [0.5, -1.5]
    with pytest.raises(dovetail.autograd.GradcheckError, match="Jacobian mismatch"):
        dovetail.autograd.gradcheck(lambda x: x * x.detach(), x, fast_mode=fast)


# -- forward mode ----------------------------------------------------------------------------------


def test_a_tangent_written_to_a_view_is_in_the_place_of_the_view(devices: tuple[str, str]) -> None:
    found = []
    for device in devices:
        with forward_ad.dual_level():
            base = dovetail.zeros(3, 4, device=device)
            row, columns = base[1], base.t()
            base[1:, 2] = forward_ad.make_dual(
                dovetail.tensor([0.5, 0.25], device=device),
                dovetail.tensor([1.0, 2.0], device=device),
            )
            row.mul_(10)
            found.append(
                [
                    [primal.tolist(), tangent.tolist()]
                    for primal, tangent in map(forward_ad.unpack_dual, (base, row, columns))
                ]
            )
    assert found[0] == found[1]
    assert found[0][1] == [[0, 0, 5.0, 0], [0, 0, 10.0, 0]]


def test_copies_of_tensors_that_no_strides_describe_are_not_mixed_up() -> None:
    made = [dovetail.flip(dovetail.arange(4) + 10 * number, [0]) for number in range(8)]
    assert [each.tolist() for each in copy.deepcopy(made)] == [each.tolist() for each in made]


class Opaque:
    """An array of which nothing tells what memory it lies in."""

    def __init__(self, host: Any) -> None:
        self.host = np.array(host)

    dtype = property(lambda self: self.host.dtype)
    shape = property(lambda self: self.host.shape)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)

    def __mul__(self, other: Any) -> Opaque:
        return Opaque(self.host * other)


class OpaqueArrays(FrozenArrays):
    """Arrays without NumPy's attributes of memory."""

    array_types = (Opaque,)

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        host = value.host if isinstance(value, Opaque) else value
        return Opaque(np.array(host, native_dtype))

    def to_host(self, array: Any) -> Any:
        return array.host.copy()


def test_a_kernel_of_a_library_may_return_arrays_that_have_no_base() -> None:
    device = register_backend("opaque", np, OpaqueArrays)
    with _scoped_library("opaque_arrays", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.array_impl("f", lambda x: x * 3, device.key_name)
        x = dovetail.tensor([1.0, 2.0], device=device.name)
        assert dovetail.ops.opaque_arrays.f(x).tolist() == [3.0, 6.0]
