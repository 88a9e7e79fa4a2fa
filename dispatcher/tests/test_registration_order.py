"""Every order of registering and removing ends in the same table, and in the same call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher._C import (
    _dispatch_check_all_invariants,
    _dispatch_check_invariants,
    _dispatch_dump,
    _dispatch_dump_table,
)
from dovetail_kernel import TensorBase

Tensors = Callable[..., TensorBase]

COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
STEPS = ("def", "CPU", "Autograd", "CompositeImplicitAutograd", "fallback")


def perform(step: str, made: dict[str, Library]) -> None:
    """Register one thing, with a library of its own."""
    if step == "def":
        made[step] = Library("order", "DEF")
        made[step].define("f(Tensor x) -> str")
    elif step == "fallback":
        made[step] = Library("_", "IMPL")
        made[step].fallback(lambda op, x: "fallback", "CUDA")
    else:
        made[step] = Library("order", "IMPL")
        made[step].impl("f", lambda x, step=step: step, step)


def state_of_the_table() -> str:
    """Return the dumps of the operator, without places."""
    text = _dispatch_dump("order::f") + _dispatch_dump_table("order::f")
    return "\n".join(
        line.split(": registered at")[0] + line.rpartition("[")[2] for line in text.splitlines()
    )


@pytest.fixture
def made() -> Iterator[dict[str, Library]]:
    libraries: dict[str, Library] = {}
    yield libraries
    for each in libraries.values():
        each._destroy()


def expected_tables() -> dict[frozenset[str], str]:
    """Return the table for every subset of the steps, registered in the order of `STEPS`."""
    tables = {}
    for mask in range(1 << len(STEPS)):
        subset = [step for i, step in enumerate(STEPS) if mask >> i & 1]
        libraries: dict[str, Library] = {}
        for step in subset:
            perform(step, libraries)
        tables[frozenset(subset)] = state_of_the_table()
        for each in libraries.values():
            each._destroy()
    return tables


def test_every_order_of_registering_and_of_removing_passes_through_the_same_tables(
    made: dict[str, Library],
) -> None:
    expected = expected_tables()
    for number, order in enumerate(permutations(STEPS)):
        live: set[str] = set()
        for step in order:
            perform(step, made)
            live.add(step)
            assert state_of_the_table() == expected[frozenset(live)], order
        removal = list(permutations(STEPS))[(number * 37) % 120]
        for step in removal:
            made.pop(step)._destroy()
            live.remove(step)
            assert state_of_the_table() == expected[frozenset(live)], (order, removal)
    _dispatch_check_all_invariants()


def test_no_call_runs_a_route_made_before_a_change(
    made: dict[str, Library], tensor: Tensors
) -> None:
    answers: dict[frozenset[str], Any] = {}
    for order in permutations(STEPS[1:4]):
        perform("def", made)
        live: set[str] = set()
        for step in (*order, *order):
            if step in live:
                made.pop(step)._destroy()
                live.remove(step)
            else:
                perform(step, made)
                live.add(step)
            try:
                answer = ops.order.f(tensor())
            except NotImplementedError:
                answer = None
            assert answers.setdefault(frozenset(live), answer) == answer, order
        made.pop("def")._destroy()
    assert answers[frozenset({"CPU"})] == "CPU"
    assert answers[frozenset()] is None


@pytest.mark.parametrize("order", [COMPOSITES, COMPOSITES[::-1]])
def test_the_live_table_does_not_depend_on_the_order_of_registration(
    order: tuple[str, str], library: Callable[..., Library], tensor: Tensors
) -> None:
    # Trap 4.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x) -> str")
    for key in order:
        lib.impl("f", lambda x, key=key: key, key)
        ops.trap.f(tensor())
    assert ops.trap.f(tensor()) == COMPOSITES[1]
    _dispatch_check_invariants("trap::f")
