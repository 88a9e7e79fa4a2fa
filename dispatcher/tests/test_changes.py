"""Every change of the operator table can be reverted at any time, in any order, and leaves no
trace.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from itertools import permutations
from random import Random
from typing import Any, cast

import pytest

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.registration import namespace_owners
from dovetail_dispatcher.registration.namespace_owners import own_namespace
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.batching_rule import BatchingRule
from dovetail_dispatcher.table.derivative_formula import PythonFormula
from dovetail_dispatcher.table.kernels import BOXED, TENSOR
from dovetail_dispatcher.table.operator import CoveredDefinition, Operator
from dovetail_dispatcher.table.registrars import Registrar
from dovetail_dispatcher.table.updates import pending
from dovetail_dispatcher.table.updates.backend_fallbacks import add_fallback
from dovetail_dispatcher.table.updates.changes import Change, make, open_transaction, take_back
from dovetail_dispatcher.table.updates.definitions import define, define_many
from dovetail_dispatcher.table.updates.kernel_registration import add_kernel, add_kernels
from dovetail_dispatcher.table.updates.pending import register_when_there
from dovetail_dispatcher.table.updates.rule_registration import (
    set_batching_rule,
    set_derivative_formula,
    set_derivative_formulas,
    set_fusions,
    set_torch_dispatch_rule,
)
from dovetail_dispatcher.table.updates.transactions import transaction
from dovetail_dispatcher.testing import registration as op_info_registration
from dovetail_dispatcher.testing.registration import OpInfoChange
from dovetail_kernel import DispatchKey
from dovetail_kernel.errors import calling_frame

Owner = list[Change]
Step = Callable[[Owner], Any]


class Mode:
    """Stands for a class with ``__torch_dispatch__``."""


def kernel(key: DispatchKey, text: str) -> Kernel:
    return Kernel(lambda x: text, key, TENSOR, text)


def formula(text: str) -> PythonFormula:
    return PythonFormula("rev::f.default", lambda ctx, grad: grad, where=text)


def table_formula() -> Any:
    return formula("table")._replace(operator="rev::f")


class Fused:
    """Names the operators of a fusion and its helper: all that the table reads of it."""

    operator, inner, outer, helper = "rev::f", "rev::inner", "rev::outer", "other"


def registrar() -> Registrar:
    return Registrar(calling_frame(), weakref.ref(Mode))


STEPS: dict[str, Step] = {
    "covering definition": lambda owner: define(
        "rev::f(Tensor x) -> Tensor", "over", owner, override=True
    ),
    "kernel": lambda owner: add_kernel("rev::f", "", kernel(DispatchKey.CPU, "first"), owner),
    "kernel over it": lambda owner: add_kernel(
        "rev::f", "", kernel(DispatchKey.CPU, "second"), owner
    ),
    "kernels of a library": lambda owner: add_kernels(
        [
            ("rev::f", "", kernel(DispatchKey.CPU, "of many")),
            ("rev::f", "", kernel(DispatchKey.CUDA, "of many")),
            ("rev::inner", "", kernel(DispatchKey.CPU, "of many")),
            ("rev::new", "", kernel(DispatchKey.CPU, "of many")),
        ],
        owner,
    ),
    "formula": lambda owner: set_derivative_formula("rev::f", "", formula("first"), owner),
    "formulas of a table": lambda owner: set_derivative_formulas([table_formula()], owner),
    "batching rule": lambda owner: set_batching_rule("rev::f", "", BatchingRule(print), owner),
    "batching rule over it": lambda owner: set_batching_rule(
        "rev::f", "", BatchingRule(repr), owner
    ),
    "dispatch rule": lambda owner: set_torch_dispatch_rule("rev::f", "", Mode, print, owner),
    "fusion": lambda owner: set_fusions([cast(Any, Fused())], owner),
    "fallback": lambda owner: add_fallback(
        DispatchKey.CUDA, lambda key: Kernel(print, key, BOXED, "fallback"), owner
    ),
    "waiting kernel": lambda owner: register_when_there(
        "rev_device", "rev::f", "here", lambda _key, _owner: None, owner
    ),
    "namespace": lambda owner: own_namespace("rev", "here", registrar(), owner),
    "samples": lambda owner: make(OpInfoChange("rev", tuple), owner),
}
"""Each registers one thing; all need the definition of ``rev::f``."""


def in_force(layer: Operator | CoveredDefinition) -> Any:
    names = ("defined_at", "formula", "fusion", "batching_rule", "kind", "tags", "fused_in")
    kernels = {key: tuple(stack) for key, stack in layer.kernels.items()}
    settings = {name: len(values) for name, values in layer.settings.items() if values}
    return (
        {name: getattr(layer, name) for name in names},
        kernels,
        settings,
        dict(layer.torch_dispatch_rules),
    )


def state_of_the_table() -> Any:
    """Return all that is registered."""
    return (
        {op.qualified_name: [in_force(layer) for layer in op.layers()]
         for op in registry.all_operators() if op.namespace == "rev"},
        dict(registry.fallbacks),
        pending.check_pending(),
        dict(namespace_owners._owners),
        {namespace: tuple(loaders) for namespace, loaders in op_info_registration._loaders.items()},
    )  # fmt: skip


@pytest.fixture
def definitions() -> Iterator[Owner]:
    """``rev::f``, and the operators that it is fused from."""
    made: Owner = []
    for name in ("f", "inner", "outer"):
        define(f"rev::{name}(Tensor x) -> Tensor", "here", made)
    yield made
    take_back(made)
    assert not [op for op in registry.all_operators() if op.namespace == "rev"]


def subclasses(cls: type) -> set[type]:
    return {cls, *[each for sub in cls.__subclasses__() for each in subclasses(sub)]}


def test_the_steps_make_every_kind_of_change(definitions: Owner) -> None:
    made = list(definitions)
    for step in STEPS.values():
        step(made)
    define_many(
        [("rev::t(Tensor x) -> Tensor", "other", "none", (), (), "", (), None, "t.yaml", 3)], "here"
    )
    table = registry.find_or_throw("rev::t").definition
    kinds = {each for each in subclasses(Change) if each.__module__ != __name__} - {Change}
    assert isinstance(table, Change)
    found = {type(each) for each in [*made, table]}
    take_back([*made[len(definitions) :], table])
    assert found == kinds


@pytest.mark.parametrize("seed", range(60))
def test_changes_are_reverted_in_any_order(definitions: Owner, seed: int) -> None:
    before = state_of_the_table()
    random = Random(seed)
    names = random.sample(list(STEPS), len(STEPS))
    made: Owner = []
    for name in names:
        STEPS[name](made)
    random.shuffle(made)
    for change in made:
        change.revert()
        change.revert()
    assert state_of_the_table() == before


@pytest.mark.parametrize("attribute", ["formula", "batching_rule"])
def test_what_is_in_force_is_what_was_set_last_of_what_is_live(
    definitions: Owner, attribute: str
) -> None:
    op = registry.find_or_throw("rev::f")
    for order in permutations(range(3)):
        owner: Owner = []
        values: list[Any] = []
        for number in range(3):
            if attribute == "formula":
                values.append(formula(str(number)))
                set_derivative_formula("rev::f", "", values[-1], owner)
            else:
                values.append(BatchingRule(print, where=str(number)))
                set_batching_rule("rev::f", "", values[-1], owner)
        live = [0, 1, 2]
        for number in order:
            owner[number].revert()
            live.remove(number)
            assert getattr(op, attribute) is (values[live[-1]] if live else None)


def test_a_rule_of_a_covered_definition_is_reverted_beneath_the_one_that_covers_it(
    definitions: Owner,
) -> None:
    rules: Owner = []
    STEPS["dispatch rule"](rules)
    STEPS["batching rule"](rules)
    STEPS["formula"](rules)
    over: Owner = []
    STEPS["covering definition"](over)
    take_back(rules)
    take_back(over)
    op = registry.find_or_throw("rev::f")
    assert (op.torch_dispatch_rules, op.batching_rule, op.formula) == ({}, None, None)


def test_a_table_that_cannot_be_defined_leaves_nothing(definitions: Owner) -> None:
    before = state_of_the_table()
    rows: list[Any] = [
        (f"rev::{name}(Tensor x) -> Tensor", "other", "none", (), (), "", (), None, "t.yaml", 3)
        for name in ("new", "f")
    ]
    with pytest.raises(RuntimeError, match="Tried to register an operator"):
        define_many(rows, "here")
    assert state_of_the_table() == before


def test_a_transaction_that_fails_reverts_every_change(definitions: Owner) -> None:
    before = state_of_the_table()
    with pytest.raises(ZeroDivisionError), transaction():
        for step in STEPS.values():
            step([])
        raise ZeroDivisionError
    assert state_of_the_table() == before


def test_a_reverted_change_keeps_nothing_alive(definitions: Owner) -> None:
    function = type("Function", (), {"__call__": lambda self, x: x})()
    gone = weakref.ref(function)
    owner: Owner = []
    held: Owner = []
    before = open_transaction.get()
    open_transaction.set(held)
    try:
        add_kernel("rev::f", "", Kernel(function, DispatchKey.CPU, TENSOR, "here"), owner)
    finally:
        open_transaction.set(before)
    assert owner == held
    take_back(owner)
    del function
    gc.collect()
    assert gone() is None
    take_back(held)


def test_a_change_is_owned_before_it_is_applied(definitions: Owner) -> None:
    class Interrupted(Change):
        __slots__ = ()

        def apply(self) -> None:
            assert owner == [self]
            raise KeyboardInterrupt

        def take_out(self) -> None:
            taken_out.append(self)

    owner: Owner = []
    taken_out: Owner = []
    with pytest.raises(KeyboardInterrupt):
        make(Interrupted(), owner)
    change = owner[0]
    take_back(owner)
    take_back([change])
    assert taken_out == [change]
