"""Initialisers and layers on arrays that cannot be written: the values are those of arrays that
can, and what is made shares its memory with nothing else.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import Tensor, nn
from dovetail.backends import NamespaceArrays, register_backend
from dovetail.nn import init

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")


class Frozen(np.ndarray[Any, Any]):
    """An array that refuses to be written."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("an immutable array was written to")


class FrozenArrays(NamespaceArrays):
    """Immutable arrays around NumPy's."""

    array_types = (Frozen,)
    mutable_arrays = False

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        return super().asarray(value, native_dtype).view(Frozen)

    def to_host(self, array: Any) -> Any:
        return array.view(np.ndarray).copy()

    def embed(self, value: Any, shape: Any, key: Any, fill: Any) -> Any:
        made = np.full(shape, fill, value.dtype)
        made[key] = value
        return made

    def index_put(self, array: Any, key: Any, values: Any, accumulate: bool) -> Any:
        made = np.array(array)
        (np.add.at if accumulate else np.ndarray.__setitem__)(made, key, values)
        return made

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        key = list(np.ix_(*map(np.arange, index.shape)))
        key[dim] = index
        return self.index_put(array, tuple(key), source, accumulate)


@pytest.fixture(scope="module")
def devices() -> tuple[str, str]:
    """Two devices of NumPy's arrays: one that cannot be written, and one that can."""
    return (
        register_backend("unwritten", np, FrozenArrays).name,
        register_backend("written", np).name,
    )


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
    "PReLU": lambda: nn.PReLU(),
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
