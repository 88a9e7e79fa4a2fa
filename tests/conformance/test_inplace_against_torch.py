"""Writes in place and assignments, found by random programs: values, versions and gradients, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from same_programs import Programs, assert_same, chain, tried

import dovetail

PROGRAMS = Programs()


@PROGRAMS("a number out of the memory that is written to")
def _(lib: Any) -> Any:
    def written(write: Callable[[Any], Any]) -> Any:
        x = lib.tensor([2.0, 3.0, 4.0], requires_grad=True)
        y = x * 1
        write(y)
        (y * lib.tensor([1.0, 10.0, 100.0])).sum().backward()
        return y.tolist(), x.grad.tolist(), y._version

    mask = lib.tensor([True, False, True])
    writes = [
        lambda y: y.fill_(y[1]),
        lambda y: y.masked_fill_(mask, y[1]),
        lambda y: y.__setitem__(slice(None), y[1]),
        lambda y: y.__setitem__(slice(0, 2), y[1]),
        lambda y: y.__setitem__(0, y[1]),
        lambda y: y.__setitem__(1, y[1]),
        lambda y: y.__setitem__(mask, y[1]),
        lambda y: y.__setitem__(slice(0, 2), y[1:]),
        lambda y: y.mul_(y[1]),
    ]
    return [tried(lambda write=write: written(write)) for write in writes]


WHOLE_SLICES: list[tuple[str, Any]] = [
    ("colon", slice(None)),
    ("from zero", slice(0, None)),
    ("to the end", slice(0, 2)),
    ("beyond the end", slice(None, 9)),
    ("in steps of one", slice(None, None, 1)),
    ("two colons", (slice(None), slice(None))),
    ("dots", ...),
    ("nothing", ()),
    ("dots and a slice", (..., slice(0, 2))),
    ("from the end", slice(-2, None)),
    ("a new dimension", None),
]


def written_whole(lib: Any, index: Any) -> Any:
    found = []
    for make in (lambda w: w.sum(), lambda w: w * 1):
        x, w = lib.ones(2, 2, requires_grad=True), lib.ones(2, 2, requires_grad=True)
        y = x * 1
        y[index] = make(w)
        y.sum().backward()
        found.append((chain(y)[0], y._version, x.grad.tolist(), w.grad.tolist()))
    return found


PROGRAMS |= {
    f"an assignment to all of a tensor by {name}": lambda lib, index=index: written_whole(
        lib, index
    )
    for name, index in WHOLE_SLICES
}


@PROGRAMS("a tensor assigned to itself")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    y[:] = y
    y[0:2] = y[0:2]
    y.sum().backward()
    return chain(y)[0], y._version, x.grad.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
def test_logical_operators_in_place_give_a_constant_here(name: str) -> None:
    def slopes(lib: Any) -> list[list[float]]:
        others = [] if name == "logical_not_" else [lib.tensor([0.0, 1.0])]

        def f(x: Any) -> Any:
            y = x * 3
            getattr(y, name)(*others)
            return y

        x = lib.tensor([2.0, 0.0])
        leaf = x.clone().requires_grad_()
        f(leaf).sum().backward()
        return [leaf.grad.tolist(), lib.func.jvp(f, (x,), (lib.ones(2),))[1].tolist()]

    assert slopes(dovetail) == [[0.0, 0.0]] * 2
    assert slopes(torch) == [[3.0, 3.0]] * 2


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.add_(y, alpha=-0.5),
        lambda x, y: x.mul_(y),
        lambda x, y: x.addcmul_(y, y, value=2),
        lambda x, y: x.lerp_(y, 0.25),
        lambda x, y: x.sigmoid_(),
        lambda x, y: x.clamp_(-1, y.ndim),
    ],
)
def test_a_view_with_gaps_is_written_once(dtype: str, write: Any) -> None:
    def outcome(lib: Any, size: int) -> Any:
        held = lib.arange(float(5 * (size * 2 + 1)), device="cpu") / 8
        held = held.reshape(5, size * 2 + 1).to(getattr(lib, dtype))
        part = held[1:3, : size * 2].view(1, 2, 2, size).transpose(0, 2)
        for other in (
            lib.ones(2, 2, 1, size, device="cpu"),
            lib.ones(size, 1, 2, 2, device="cpu").mT,
        ):
            other = other.reshape(part.shape).to(held.dtype)
            write(part, other)
            write(held[3:, :-1].view(2, 2, size), lib.ones(2, 2, size, device="cpu").to(held.dtype))
        return held.tolist()

    for size in (1, 2, 3, 20):
        np.testing.assert_allclose(outcome(dovetail, size), outcome(torch, size), rtol=2e-3)
