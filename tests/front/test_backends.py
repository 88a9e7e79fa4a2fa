"""A backend of a third party under the whole front end: loopback, NumPy under another name, public
names only.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import nn

loopback = pytest.importorskip(
    "dovetail_loopback", reason="the backend is not installed: make install"
)

pytestmark = pytest.mark.cpu_only(reason="the tests name their devices")
SOURCE = Path(loopback.__file__)


def test_it_is_short_and_uses_public_names_only() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 75
    modules = {
        node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    }
    assert {each for each in modules if each and each.startswith("dovetail")} == {
        "dovetail.backends"
    }


def test_it_is_found_and_loaded_when_it_is_first_used() -> None:
    program = """
import sys, dovetail
assert "dovetail_loopback" not in sys.modules
before = {each.name: each for each in dovetail.devices()}["loopback"]
assert (before.is_available, before.count, before.loaded) == (True, 1, False)
assert before.distribution == "dovetail-loopback"
x = dovetail.ones(2, device="loopback")
assert str(x.device) == "loopback:0"
assert {each.name: each for each in dovetail.devices()}["loopback"].loaded
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_the_command_lists_it_with_its_kernels() -> None:
    program = (
        "import dovetail, dovetail.command as c; dovetail.ones(1, "
        "device='loopback'); c.app(['plugins', '--json'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    listed = {(each["group"], each["name"]): each for each in json.loads(found.stdout)}
    record = listed["dovetail.backends", "loopback"]
    assert record["distribution"] == "dovetail-loopback"
    assert record["kernels"] > 200


def test_a_module_moves_learns_and_comes_back() -> None:
    dovetail.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Dropout(0.1), nn.Linear(8, 3)
    ).to("loopback")
    assert {each.device.type for each in model.parameters()} == {"loopback"}
    optimizer = dovetail.optim.Adam(model.parameters(), lr=0.05)
    x, target = (
        dovetail.randn(32, 4, device="loopback"),
        dovetail.randint(0, 3, (32,), device="loopback"),
    )
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert all(type(each.array) is loopback.Array for each in model.parameters())
    assert {each.device.type for each in model.cpu().parameters()} == {"cpu"}


def test_a_module_is_initialised_by_the_seed() -> None:
    """With numbers of the backend's own: a device has a generator of its own in PyTorch too."""
    drawn = []
    for seed in (1, 1, 2):
        dovetail.manual_seed(seed)
        with dovetail.device("loopback"):
            weight = nn.Linear(3, 2).weight
        assert weight.device.type == "loopback"
        drawn.append(weight.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_backward_goes_on_where_a_scalar_of_another_device_was_made() -> None:
    """The nodes that made the scalars take arrays of the CPU, and are in the way of a run over
    arrays of the other device.
    """
    s = dovetail.tensor(2.0, requires_grad=True)
    x = dovetail.tensor([1.0, 2.0], device="loopback", requires_grad=True)
    p, q = dovetail.stack([s, s * 3]).unbind()
    y = (x * x * q + x * p).sum()
    found = dovetail.autograd.grad(y, [s, x], retain_graph=True)
    assert [(each.device.type, each.tolist()) for each in found] == [
        ("cpu", 18.0),
        ("loopback", [14.0, 26.0]),
    ]
    y.backward()
    assert s.grad.tolist() == 18.0
    assert x.grad.tolist() == [14.0, 26.0]


@pytest.mark.parametrize(
    ("where", "expected"), [(None, "loopback"), ("cpu", "cpu"), ({"loopback:0": "cpu"}, "cpu")]
)
def test_a_saved_tensor_comes_back_where_it_was_or_where_it_is_wanted(
    where: Any, expected: str
) -> None:
    file = io.BytesIO()
    dovetail.save({"x": dovetail.arange(3, device="loopback")}, file)
    file.seek(0)
    x = dovetail.load(file, map_location=where)["x"]
    assert (x.device.type, x.tolist()) == (expected, [0, 1, 2])


def test_a_checkpoint_of_the_cpu_is_loaded_on_the_device() -> None:
    model, there = nn.Linear(2, 2), nn.Linear(2, 2).to("loopback")
    there.load_state_dict(model.state_dict())
    assert there.weight.tolist() == model.weight.tolist()
    assert there.weight.device.type == "loopback"


def test_kernels_of_a_third_library_are_loaded_when_both_are_in_use(scoped_library: Any) -> None:
    library = scoped_library("front_backends")
    library.define("twice(Tensor x) -> Tensor")
    library.array_impl("twice", lambda x: x * 2, "LOOPBACK")
    assert dovetail.ops.front_backends.twice(dovetail.ones(1, device="loopback")).tolist() == [2]
    with pytest.raises(
        NotImplementedError,
        match="Could not run 'front_backends::twice' with arguments from the 'CPU'",
    ):
        dovetail.ops.front_backends.twice(dovetail.ones(1))


def test_a_generator_of_another_device_is_refused() -> None:
    generator = dovetail.Generator()
    for draw in (dovetail.rand, dovetail.randn, dovetail.randperm):
        with pytest.raises(
            RuntimeError, match="Expected a 'loopback' device type for generator but found 'cpu'"
        ):
            draw(3, generator=generator, device="loopback")


def test_sequences_on_the_device_are_packed_and_shuffled_by_indices_of_the_cpu() -> None:
    rows = [dovetail.arange(3.0, device="loopback"), dovetail.ones(2, device="loopback")]
    packed = nn.utils.rnn.pack_sequence(rows)
    assert packed.data.device.type == "loopback"
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    assert padded.tolist() == [[0, 1, 2], [1, 1, 0]]
    assert lengths.tolist() == [3, 2]
    with dovetail.device("loopback"):
        order = dovetail.utils.data.RandomSampler(rows, generator=dovetail.Generator())
        assert sorted(order) == [0, 1]
