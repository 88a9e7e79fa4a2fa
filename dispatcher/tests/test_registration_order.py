"""Every order of registering and removing ends in the same table, and in the same call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import permutations
from random import Random
from typing import Any

import pytest

from dovetail_dispatcher import (
    Library,
    Tag,
    TorchDispatchMode,
    ops,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from dovetail_dispatcher._C import (
    _dispatch_check_all_invariants,
    _dispatch_check_invariants,
    _dispatch_dump,
    _dispatch_dump_table,
)
from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase, bfloat16

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


class Mode(TorchDispatchMode):
    """A mode that an operator may have a rule for."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def define_it(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")


def define_over_it(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor", override=True, tags=Tag.pointwise)


FUNCTIONS: dict[str, Callable[[Library], Any]] = {
    "definition": define_it,
    "kernel": lambda lib: register_kernel("order::f", "cpu", lambda x: x, lib=lib),
    "kernel for all": lambda lib: register_kernel("order::f", None, lambda x: x, lib=lib),
    "fake": lambda lib: register_fake("order::f", lambda x: x, lib=lib),
    "autocast": lambda lib: register_autocast("order::f", "cpu", bfloat16, lib=lib),
    "autograd": lambda lib: register_autograd("order::f", lambda ctx, grad: grad, lib=lib),
    "vmap": lambda lib: register_vmap("order::f", lambda info, dims, x: (x, 0), lib=lib),
    "torch_dispatch": lambda lib: register_torch_dispatch(
        "order::f", Mode, lambda *call: call[3][0], lib=lib
    ),
}
"""What is registered by functions, each with a library of its own."""

WITH_THE_DEFINITION = {"autograd", "vmap"}
"""What goes with the definition that it was checked against: it does not outlive that."""


def outcome_in(context: Any, x: TensorBase) -> str:
    """Return what comes of a call: that it returned its argument, or the type of the error."""
    try:
        with context:
            return str(ops.order.f(x) is x)
    except (AttributeError, RuntimeError) as error:
        return type(error).__name__


def everything_known_of_the_operator(x: TensorBase) -> tuple[Any, ...]:
    """Return dumps, rules, derivative and tags of the operator, and what comes of calls."""
    op = registry.find("order::f", "")
    rules = op and (
        op.is_defined,
        op.formula is not None,
        op.batching_rule is not None,
        tuple([cls.__name__ for cls in op.torch_dispatch_rules]),
        tuple([tag.name for tag in op.tags]),
    )
    calls = [outcome_in(context, x) for context in (nullcontext(), Mode())]
    return (state_of_the_table(), rules, *calls)


def test_what_functions_register_and_take_back_in_any_order_leads_to_the_same_state(
    made: dict[str, Library], tensor: Tensors
) -> None:
    x = tensor()
    states = {frozenset[str](): everything_known_of_the_operator(x)}
    refused: set[str] = set()
    for seed in range(25):
        random = Random(f"order {seed}")
        trail: list[str] = []
        for step in random.choices(list(FUNCTIONS), k=25):
            trail.append(step)
            before = states[frozenset(made)]
            if step in made:
                made.pop(step)._destroy()
                if step == "definition":
                    for name in WITH_THE_DEFINITION & made.keys():
                        made.pop(name)._destroy()
            else:
                library = Library("order", "FRAGMENT")
                try:
                    FUNCTIONS[step](library)
                except (AttributeError, RuntimeError):
                    refused.add(step)
                    assert everything_known_of_the_operator(x) == before, (seed, trail)
                    library._destroy()
                else:
                    made[step] = library
            found = everything_known_of_the_operator(x)
            assert states.setdefault(frozenset(made), found) == found, (seed, trail)
            covering = Library("order", "FRAGMENT")
            define_over_it(covering)
            covering._destroy()
            assert everything_known_of_the_operator(x) == found, (seed, trail)
        for name in random.sample(list(made), len(made)):
            made.pop(name)._destroy()
        assert everything_known_of_the_operator(x) == states[frozenset()], (seed, trail)
    assert "autocast" in refused
    assert len(states) > 30
    _dispatch_check_all_invariants()
