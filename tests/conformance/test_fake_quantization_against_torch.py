"""`fake_quantize_per_tensor_affine`, `fake_quantize_per_channel_affine` and `hash_tensor` give what
they give in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="PyTorch is on the cpu")

VALUES = [-3.0, -0.05, 0.05, 0.15, 0.25, 1.2345, 100.0, math.nan, math.inf, -math.inf, 1e30]
PER_TENSOR = (
    *["0.1, 3, 0, 255", "0.3, 0, -128, 127", "0.1, 1, 0, 15", "-0.1, 0, 0, 255", "0.0, 0, 0, 255"],
    *["L.tensor(0.1), L.tensor(3), 0, 255", "L.tensor([0.1]), L.tensor([3.0]), 0, 255"],
    "float('nan'), 0, 0, 255",
)
PER_CHANNEL = (
    "L.tensor([0.1, 0.2, 0.3]), L.tensor([0, 1, 2], dtype=L.int32), 1, 0, 15",
    "L.tensor([0.1, 0.2, 0.3]), L.tensor([0, 1.4, 2]), 1, 0, 15",
    "L.tensor([0.1, 0.1, 0.1]), L.tensor([0.0, 1.0, 2.0]), 1, 0, 15",
    "L.tensor([0.1, 0.2]), L.tensor([0, 1], dtype=L.int32), 0, 0, 15",
    "L.tensor([0.1, 0.2]), L.tensor([3.0, 1.0], dtype=L.float16), 2, 0, 15",
)
REFUSED = (
    *["per_tensor_affine(x, 0.1, 300, 0, 255)", "per_tensor_affine(x, 0.1, 0, 5, 3)"],
    *["per_tensor_affine(x, 0.1, 1.5, 0, 255)", "per_tensor_affine(x.to(L.int64), 0.1, 1, 0, 255)"],
    "per_tensor_affine(x, L.tensor([0.1, 0.2]), L.tensor([3, 4], dtype=L.int32), 0, 255)",
    "per_channel_affine(x, L.ones(3), L.tensor([0, 1, 2]), 1, 0, 15)",
    "per_channel_affine(x, L.ones(3, dtype=L.float64), L.zeros(3), 1, 0, 15)",
    "per_channel_affine(x, L.ones(2), L.zeros(2), 1, 0, 15)",
    "per_channel_affine(x, L.ones(2), L.zeros(2), -3, 0, 15)",
    "per_channel_affine(x, L.ones(2), L.zeros(2), 5, 0, 15)",
    "per_channel_affine(x, L.ones(2), L.tensor([0, 99], dtype=L.int32), 0, 0, 15)",
    "per_channel_affine(x, L.ones(2), L.zeros(3), 0, 0, 15)",
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("arguments", PER_TENSOR)
def test_one_scale_for_all_elements(arguments: str, dtype: str) -> None:
    found = []
    for lib in (dovetail, torch):
        x = lib.tensor(VALUES).to(getattr(lib, dtype)).requires_grad_()
        made = eval(f"L.fake_quantize_per_tensor_affine(x, {arguments})", {"L": lib, "x": x})
        (made.float() * lib.arange(11.0)).nansum().backward()
        found.append((made.detach().double().numpy(), x.grad.double().numpy(), str(made.dtype)))
    for ours, theirs in zip(found[0][:2], found[1][:2], strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)
    assert found[0][2].removeprefix("dovetail.") == found[1][2].removeprefix("torch.")


@pytest.mark.parametrize("arguments", PER_CHANNEL)
def test_a_scale_for_each_index_of_a_dimension(arguments: str) -> None:
    found = []
    for lib in (dovetail, torch):
        x = ((lib.arange(12.0).reshape(2, 3, 2) - 2) / 7).requires_grad_()
        made = eval(f"L.fake_quantize_per_channel_affine(x, {arguments})", {"L": lib, "x": x})
        (made * lib.arange(12.0).reshape(2, 3, 2)).sum().backward()
        found.append((made.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("call", REFUSED)
def test_what_pytorch_refuses_is_refused(call: str) -> None:
    kinds = []
    for lib in (torch, dovetail):
        with pytest.raises(Exception) as caught:
            eval(f"L.fake_quantize_{call}", {"L": lib, "x": lib.ones(2, 3, 2)})
        kinds.append(caught.type)
    assert issubclass(kinds[1], kinds[0])


def test_gradients_go_through_transforms() -> None:
    def loss(x: Any) -> Any:
        return (dovetail.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15) * x).sum()

    x = dovetail.tensor([[-1.0, 0.26], [0.5, 9.0]])
    expected = [[0.0, 0.3 + 0.26], [0.5 + 0.5, 1.5]]
    made = dovetail.func.vmap(dovetail.func.grad(loss))(x)
    assert np.allclose(made.numpy(), expected)
    _, tangent = dovetail.func.jvp(loss, (x,), (dovetail.ones(2, 2),))
    assert math.isclose(tangent.item(), float(np.sum(expected)), rel_tol=1e-6)


HASHED: tuple[str, ...] = (
    *["L.tensor([1.0, 2.0, -3.5])", "L.tensor([True, False])", "L.tensor([1.0, 2.0]).half()"],
    *["L.tensor([1, 2, -7], dtype=L.int8)", "L.tensor([1.5, -0.0], dtype=L.bfloat16)"],
    *["L.arange(30).reshape(2, 3, 5)", "L.arange(30).reshape(2, 3, 5), 1", "L.tensor(5)"],
    *["L.arange(30).reshape(2, 3, 5), (0, -1)", "L.arange(30).reshape(2, 3, 5), 2, keepdim=True"],
    *["L.arange(7.0), ()", "L.zeros(0, 3), 1", "L.zeros(0, 3), 1, keepdim=True"],
    "L.arange(257, dtype=L.int32), 0",
)


@pytest.mark.parametrize("arguments", HASHED)
def test_hashes_are_those_of_pytorch(arguments: str) -> None:
    ours, theirs = (eval(f"L.hash_tensor({arguments})", {"L": lib}) for lib in (dovetail, torch))
    assert ours.dtype is dovetail.uint64
    assert ours.tolist() == theirs.tolist()
    assert tuple(ours.shape) == tuple(theirs.shape)


@pytest.mark.parametrize(
    "arguments",
    [
        *["L.ones(0)", "L.zeros(3, 0), 1", "L.ones(2), mode=1", "L.ones(2), 5"],
        "L.ones(2, dtype=L.complex64)",
    ],
)
def test_hashes_that_pytorch_refuses_are_refused(arguments: str) -> None:
    kinds = []
    for lib in (torch, dovetail):
        with pytest.raises(Exception) as caught:
            eval(f"L.hash_tensor({arguments})", {"L": lib})
        kinds.append(caught.type)
    assert issubclass(kinds[1], kinds[0])
