"""Writes in place and assignments, found by random programs: values, versions and gradients, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
