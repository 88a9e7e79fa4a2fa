"""Dual tensors: writes to what they share, after a graph has saved it, are refused as in PyTorch,
since the gradient would be another; and who may have a tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
from same_programs import Programs, assert_same, tried

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


class Taken(NamedTuple):
    """A tensor with a graph, its tangent, and what shares memory with them."""

    base: Any
    tangent: Any
    dual: Any
    primal: Any
    unpacked_tangent: Any

    def view(self, name: str) -> Any:
        return getattr(self, name.removeprefix("view of ")).view(2, 1)

    def find(self, name: str) -> Any:
        return self.view(name) if name.startswith("view of ") else getattr(self, name)


NAMES = ("base", "tangent", "dual", "primal", "unpacked_tangent")
PLACES = (*NAMES, *(f"view of {name}" for name in NAMES))
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "zero_": lambda x: x.zero_(),
    "item": lambda x: x.__setitem__(0, 5.0),
}


def written_after_saving(lib: Any, saved: str, written: str, write: Callable[[Any], Any]) -> Any:
    forward = lib.autograd.forward_ad
    leaf = lib.tensor([1.0, 2.0], requires_grad=True)
    with forward.dual_level():
        base, tangent = leaf * 1, leaf * 3
        dual = forward.make_dual(base, tangent)
        taken = Taken(base, tangent, dual, *forward.unpack_dual(dual))
        x = taken.find(saved)
        results = forward.unpack_dual(x * x)
        write(taken.find(written))
        versions = base._version, dual._version, taken.primal._version
        found = [
            tried(partial(lib.autograd.grad, each.sum(), leaf, retain_graph=True), words=52)
            for each in results
            if each is not None
        ]
        return versions, [each if each[0] == "RuntimeError" else each[0].tolist() for each in found]


def replaces_the_tangent(saved: str, written: str, name: str) -> bool:
    """Return whether a write to a dual tensor gives it another tangent here, while PyTorch writes
    to the one that it has: what was computed of that is right here, and refused there.
    """
    return saved.endswith("tangent") and written == "dual" and name != "item"


PROGRAMS = Programs(
    {
        f"{saved} saved, {written} written by {name}": partial(
            written_after_saving, saved=saved, written=written, write=write
        )
        for saved in PLACES
        for written in PLACES
        for name, write in WRITES.items()
        if not replaces_the_tangent(saved, written, name)
    }
)


@PROGRAMS("a tangent of a result that is marked as not differentiable")
def tangent_of_a_constant(lib: Any) -> Any:
    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            made = y.clone()
            ctx.mark_non_differentiable(made)
            return x.clone(), made

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any) -> Any:
            return x, x.clone()

    forward = lib.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(lib.tensor(2.0), lib.tensor(1.0))
        return [tried(partial(Two.apply, x, y)) for y in (lib.tensor(3.0), lib.tensor(3))]


@PROGRAMS("gradcheck of a function that changes the tangent of one input")
def wrong_tangent_of_one(lib: Any) -> Any:
    forward = lib.autograd.forward_ad

    def product(x: Any, y: Any) -> Any:
        if forward._current_level >= 0:
            primal, tangent = forward.unpack_dual(y)
            y = forward.make_dual(primal, tangent * 1.1)
        return x * y

    inputs = [lib.rand(2, dtype=lib.float64, requires_grad=True) for _ in range(2)]
    checks = [
        partial(lib.autograd.gradcheck, product, inputs, check_forward_ad=True, fast_mode=fast)
        for fast in (True, False)
    ]
    return [tried(check)[0] for check in checks]


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_beside_dual_tensors_do_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])
