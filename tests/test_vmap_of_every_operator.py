"""Every operator of the base library gives under `vmap` what it gives sample by sample."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from operator_samples import SAMPLES, operators, samples

import dovetail as dt
from dovetail_dispatcher.registration.batching_rules import load_batching_rules
from dovetail_dispatcher.schema import default_of
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.operator import Operator
from dovetail_kernel import DispatchKey

BATCH = 3
RANDOM = {
    name
    for name in SAMPLES
    if name.startswith(("empty", "rand", "new_empty", "native_dropout", "multinomial"))
}
RANDOM |= {"uniform_", "normal_", "bernoulli_.float", "bernoulli"}

LOOPED: set[str] = set()
"""Operators without rule and without decomposition: one call per sample, and a warning."""

Place = tuple[int, int | None]


def named(name: str) -> Operator:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload)


def batch_of(tensor: Any) -> Any:
    """Return three different samples, the first of which is `tensor`."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return dt.stack([tensor, tensor * 0.5, tensor + 0.25])
    if tensor.dtype is dt.bool:
        return dt.stack([tensor, dt.logical_not(tensor), tensor])
    return dt.stack([tensor, tensor.flip([0]) if tensor.ndim else tensor, tensor])


def places_of(args: list[Any]) -> list[Place]:
    """Return where the tensors are: the argument, and the place in it if it is a list."""
    found: list[Place] = []
    for i, value in enumerate(args):
        if isinstance(value, dt.Tensor):
            found.append((i, None))
        elif isinstance(value, (list, tuple)):
            found += [(i, j) for j, each in enumerate(value) if isinstance(each, dt.Tensor)]
    return found


def replaced(args: list[Any], places: list[Place], values: list[Any]) -> list[Any]:
    made = [list(value) if isinstance(value, (list, tuple)) else value for value in args]
    for (i, j), value in zip(places, values, strict=True):
        if j is None:
            made[i] = value
        else:
            made[i][j] = value
    return made


def at(args: list[Any], place: Place) -> Any:
    return args[place[0]] if place[1] is None else args[place[0]][place[1]]


def cases(
    op: Operator, samples_of: list[tuple[Any, ...]]
) -> Iterator[tuple[list[Any], dict[str, Any], list[Place]]]:
    """Yield arguments and which of them are batched: every tensor alone, then all."""
    positional = [a for a in op.schema.arguments if not a.kwarg_only]
    written = [i for i, a in enumerate(op.schema.arguments) if a.is_write]
    for sample in samples_of:
        given, options = list(sample), {}
        if given and isinstance(given[-1], dict):
            options = given.pop()
        args = given + [default_of(a) for a in positional[len(given) :]]
        places = places_of(args)
        for chosen in [*([each] for each in places), *([places] if len(places) > 1 else [])]:
            if not written or (written[0], None) in chosen:
                yield args, options, chosen


def assert_same(found: Any, wanted: Any, exact: bool) -> None:
    assert tuple(found.shape) == tuple(wanted.shape)
    assert found.array.dtype == wanted.array.dtype
    if exact:
        values = [
            np.asarray(each if each.dtype.is_complex else each.to(dt.float64))
            for each in (found, wanted)
        ]
        np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-5)


def check(
    op: Operator, args: list[Any], options: dict[str, Any], places: list[Place], exact: bool
) -> None:
    call: Callable[..., Any] = op.handle
    batches = [batch_of(at(args, place)) for place in places]
    loop = [
        call(*replaced(args, places, [batch[sample].clone() for batch in batches]), **options)
        for sample in range(BATCH)
    ]
    several = isinstance(loop[0], (list, tuple))
    present = [each is not None for each in (loop[0] if several else [loop[0]])]

    def one(*samples_: Any) -> Any:
        made = call(*replaced(args, places, list(samples_)), **options)
        return [each for each in made if each is not None] if several else made

    in_place = any(a.is_write for a in op.schema.arguments)
    copies = [batch.clone() for batch in batches]
    found = dt.vmap(one, randomness="different")(*copies)
    wanted = [
        dt.stack([row[column] if several else row for row in loop])
        for column, there in enumerate(present)
        if there
    ]
    for mine, theirs in zip(found if several else [found], wanted, strict=True):
        assert_same(mine, theirs, exact)
    if in_place:
        assert_same(copies[0], wanted[0], exact)
        assert copies[0]._version > 0


@pytest.fixture(autouse=True)
def rules() -> None:
    load_batching_rules()


@pytest.mark.parametrize(
    "name", [name for name in operators() if not name.startswith(("index_put_", "_local"))]
)
def test_an_operator_under_vmap_gives_what_a_loop_gives(name: str) -> None:
    op = named(name)
    for args, options, places in cases(op, samples(name)):
        with warnings.catch_warnings():
            if name in LOOPED:
                warnings.simplefilter("ignore")
            check(op, args, options, places, exact=name not in RANDOM)


def in_place_variants() -> list[tuple[str, str]]:
    found = []
    for name in operators():
        for variant in named(name).variants:
            if any(a.is_write and not a.is_out for a in variant.schema.arguments):
                found.append((name, variant.qualified_name.removeprefix("aten::")))
    return found


@pytest.mark.parametrize(("functional", "name"), in_place_variants())
def test_an_in_place_variant_under_vmap_writes_what_a_loop_writes(
    functional: str, name: str
) -> None:
    op = named(name)
    for args, options, places in cases(op, samples(functional)):
        try:
            op.handle(
                *replaced(args, places, [at(args, place).clone() for place in places]), **options
            )
        except (RuntimeError, NotImplementedError):
            continue  # shape or dtype of the result differ from those of `self`
        check(op, args, options, places, exact=True)


def test_these_operators_are_called_sample_by_sample() -> None:
    looped = set()
    for op in registry.all_operators():
        decomposes = any(
            op.newest(key)
            for key in (
                DispatchKey.CompositeImplicitAutograd,
                DispatchKey.CompositeExplicitAutograd,
            )
        )
        takes_tensors = any("Tensor" in a.real_type.schema_str for a in op.schema.arguments)
        has_out = any(a.is_out for a in op.schema.arguments)
        if (
            op.namespace == "aten"
            and takes_tensors
            and not has_out
            and op.batching_rule is None
            and not decomposes
        ):
            looped.add(op.qualified_name.removeprefix("aten::"))
    assert looped == LOOPED
