"""Tensors over read-only memory are written as in PyTorch, in a copy: the memory stays as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a pointwise operator": lambda lib, x: x.add_(1),
    "one of the tensor itself": lambda lib, x: x.mul_(x),
    "one with two more operands": lambda lib, x: x.addcmul_(x, x),
    "one of another dtype": lambda lib, x: x.mul_(lib.ones(3)),
    "an assignment": lambda lib, x: x.__setitem__(0, 5.0),
    "an assignment to a view": lambda lib, x: x[1:].__setitem__(0, 5.0),
    "a view": lambda lib, x: x[1:].sin_(),
    "a view of a view": lambda lib, x: x.view(3, 1)[:2].neg_(),
    "zeros": lambda lib, x: x.zero_(),
    "a number": lambda lib, x: x.fill_(3),
    "a copy": lambda lib, x: x.copy_(lib.ones(3)),
    "a mask": lambda lib, x: x.masked_fill_(x > 0, 2.0),
    "indices": lambda lib, x: x.index_add_(0, lib.tensor([0]), lib.ones(1).double()),
    "a scan": lambda lib, x: x.cumsum_(0),
    "an activation": lambda lib, x: lib.nn.functional.relu(x.sub_(1), inplace=True),
    "out=": lambda lib, x: lib.add(x, x, out=x),
    "out= of a view": lambda lib, x: lib.add(lib.ones(2), lib.ones(2), out=x[1:]),
    "out= of a product": lambda lib, x: lib.mm(
        lib.ones(1, 3).double(), lib.eye(3).double() * 2, out=x[None]
    ),
    "several outs": lambda lib, x: lib.sort(
        lib.tensor([3.0, 1.0, 2.0]).double(), out=(x, lib.empty(3, dtype=lib.int64))
    ),
    "several tensors": lambda lib, x: lib._foreach_add_([x, x[:1]], 1.0),
    "a detached tensor": lambda lib, x: x.detach().exp_(),
    "data": lambda lib, x: x.data.add_(1),
    "inference mode": lambda lib, x: lib.inference_mode()(lambda: x.add_(1))(),
    "a function of vmap": lambda lib, x: lib.vmap(lambda y: y.add_(1))(x),
    "an optimizer": lambda lib, x: step(lib, x),  # noqa: PLW0108  # defined below
}


def step(lib: Any, x: Any) -> None:
    x.requires_grad_()
    (x * x).sum().backward()
    lib.optim.SGD([x], lr=0.1).step()
    x.requires_grad_(False)


def read_only(*numbers: float) -> Any:
    array = np.array(numbers)
    array.flags.writeable = False
    return array


def shared(lib: Any, array: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.from_numpy(array)


@pytest.mark.cpu_only(reason="the memory is NumPy's")
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_seen_through_every_tensor_and_not_by_the_array(name: str) -> None:
    seen = []
    for lib in (dovetail, torch):
        array = read_only(0.0, 1.0, 2.0)
        x = shared(lib, array)
        views = x[1:], x.view(3, 1), x.detach()
        WRITES[name](lib, x)
        x[0] += 1  # a second write
        seen.append([each.tolist() for each in (x, *views)])
        if lib is dovetail:
            assert array.tolist() == [0.0, 1.0, 2.0]
            assert not array.flags.writeable
    assert seen[0] == seen[1]
    assert seen[0][0] == [each for (each,) in seen[0][2]]


@pytest.mark.cpu_only(reason="the memory is NumPy's")
def test_a_value_saved_for_backward_is_not_replaced() -> None:
    for lib in (dovetail, torch):
        x = shared(lib, read_only(1.0, 2.0))
        weight = lib.ones(2, dtype=lib.float64, requires_grad=True)
        product = (x * weight).sum()
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


@pytest.mark.cpu_only(reason="the memory is NumPy's")
def test_elements_that_share_memory_are_refused_as_in_pytorch() -> None:
    for lib in (dovetail, torch):
        x = shared(lib, np.broadcast_to(np.ones(1), (3,)))
        with pytest.raises(RuntimeError, match="single memory location"):
            x.add_(1)
        with pytest.raises(RuntimeError, match="single memory location"):
            x.copy_(lib.arange(3))
        assert x.tolist() == [1.0, 1.0, 1.0]


SOURCES: dict[str, Callable[[Any], Any]] = {
    "from_numpy": lambda lib: lib.from_numpy(read_only(1.0)),
    "as_tensor": lambda lib: lib.as_tensor(read_only(1.0)),
    "as_tensor of another dtype": lambda lib: lib.as_tensor(read_only(1.0), dtype=lib.float32),
    "asarray": lambda lib: lib.asarray(read_only(1.0)),
    "asarray with a copy": lambda lib: lib.asarray(read_only(1.0), copy=True),
    "asarray of another dtype": lambda lib: lib.asarray(read_only(1.0), dtype=lib.float32),
    "asarray of bytes": lambda lib: lib.asarray(b"\x01", dtype=lib.uint8),
    "frombuffer": lambda lib: lib.frombuffer(b"\x01", dtype=lib.uint8),
    "frombuffer of a bytearray": lambda lib: lib.frombuffer(bytearray(b"\x01"), dtype=lib.uint8),
    "tensor": lambda lib: lib.tensor(read_only(1.0)),
    "new_tensor": lambda lib: lib.ones(1).new_tensor(read_only(1.0)),
    "from_dlpack": lambda lib: lib.from_dlpack(read_only(1.0)),
}


@pytest.mark.cpu_only(reason="the memory is NumPy's")
@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", SOURCES)
def test_a_tensor_over_read_only_memory_is_warned_of(name: str) -> None:
    counts = []
    for lib in (dovetail, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = SOURCES[name](lib)
        counts.append(len(caught))
        if lib is dovetail:
            made += 1  # runs, whatever the memory
    assert counts[0] == counts[1]
