"""Dispatch keys and key sets, compared with PyTorch: every key, every alias, every pair, and random
sets.
"""

from __future__ import annotations

import random
import re
from contextlib import ExitStack
from typing import Any

import pytest
import torch

import dovetail
from dovetail_kernel.keys.dispatch_key import (
    FUNCTIONALITIES,
    PER_BACKEND,
    DispatchKey,
    dispatch_key_for_device,
    is_included_in_alias,
    parse_dispatch_key,
)
from dovetail_kernel.keys.dispatch_keyset import (
    DispatchKeySet,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    full_after,
    full_keyset,
)

C = torch._C

ALIASES = [key for key in DispatchKey if key.is_alias]
TORCH_BITS = (1 << 64) - 1


def torch_keys() -> dict[str, Any]:
    """Return every runtime key of PyTorch by name, also the many that its parser does not know."""
    names = repr(C._dispatch_keyset_full())[len("DispatchKeySet(") : -1].split(", ")
    keys = {}
    for name in names:
        mask = parse_dispatch_key(name).mask
        keys[name] = C.DispatchKeySet.from_raw_repr(mask).highestPriorityTypeId()
    return keys


KEYS = torch_keys()
EVERY = {**KEYS, **{name: getattr(C.DispatchKey, name) for name in ("Undefined", *PER_BACKEND)}}


def ours_for(mask: int) -> DispatchKeySet:
    return DispatchKeySet.from_raw_repr(mask)


def theirs_for(mask: int) -> Any:
    return C.DispatchKeySet.from_raw_repr(mask)


def raw(keys: DispatchKeySet) -> int:
    """Return the bits without those of backends that PyTorch has not."""
    return keys.raw_repr() & TORCH_BITS


def random_masks(count: int) -> list[int]:
    generator = random.Random(20)
    names = list(KEYS)
    return [
        DispatchKeySet.of(
            *map(parse_dispatch_key, generator.sample(names, generator.randint(0, 6)))
        ).raw_repr()
        for _ in range(count)
    ]


def test_the_full_key_set_prints_as_in_torch() -> None:
    ours = [
        key.name
        for key in full_keyset
        if key.backend is None or key.backend.component <= TORCH_BITS
    ]
    assert f"DispatchKeySet({', '.join(ours)})" == repr(C._dispatch_keyset_full())


def test_every_key_name_that_torch_has_can_be_parsed() -> None:
    members = [name for name in C.DispatchKey.__members__ if not re.match("StartOf|EndOf", name)]
    assert [parse_dispatch_key(name).name for name in members] == members


@pytest.mark.parametrize("name", EVERY)
def test_a_key_has_the_bits_that_it_has_in_torch(name: str) -> None:
    assert (
        DispatchKeySet(parse_dispatch_key(name)).raw_repr()
        == C.DispatchKeySet(EVERY[name]).raw_repr()
    )


@pytest.mark.parametrize("name", ["CPU", "Meta", "AutogradCPU", "BackendSelect", "Nope", "cpu"])
def test_a_key_set_is_made_of_the_name_of_a_key_as_in_torch(name: str) -> None:
    def made(cls: Any) -> Any:
        try:
            return repr(cls(name)), cls(name).raw_repr()
        except RuntimeError as error:
            return str(error)[:33]

    assert made(DispatchKeySet) == made(C.DispatchKeySet)


def test_priority_orders_keys_as_torch_does() -> None:
    ours = [key.name for key in sorted(map(parse_dispatch_key, KEYS))]
    assert ours == list(KEYS)


@pytest.mark.parametrize("name", EVERY)
def test_full_after_is_that_of_torch(name: str) -> None:
    theirs = C._dispatch_keyset_full_after(EVERY[name])
    ours = full_after(parse_dispatch_key(name))
    assert [key.name for key in ours_for(raw(ours))] == [
        key.name for key in ours_for(raw(ours) & theirs.raw_repr())
    ]
    assert raw(ours) | 0xFFFF == theirs.raw_repr() | 0xFFFF


def test_the_predefined_sets_are_those_of_torch() -> None:
    assert repr(ours_for(raw(after_autograd_keyset))) == repr(C._after_autograd_keyset)
    assert repr(ours_for(raw(after_ADInplaceOrView_keyset))) == repr(
        C._after_ADInplaceOrView_keyset
    )


@pytest.mark.parametrize("alias", ALIASES, ids=str)
def test_an_alias_includes_the_keys_that_it_includes_in_torch(alias: DispatchKey) -> None:
    theirs = C._dispatch_key_parse(alias.name)
    ours_included = [
        name for name in EVERY if is_included_in_alias(parse_dispatch_key(name), alias)
    ]
    assert ours_included == [
        name for name in EVERY if C._dispatch_is_included_in_alias(EVERY[name], theirs)
    ]


def test_a_key_that_is_no_alias_includes_itself_as_in_torch() -> None:
    for one in ("CPU", "AutogradCPU", "Python"):
        for other in ("CPU", "AutogradCPU", "Python"):
            ours = is_included_in_alias(parse_dispatch_key(one), parse_dispatch_key(other))
            assert ours == C._dispatch_is_included_in_alias(EVERY[one], EVERY[other])


def test_alias_keys_are_those_of_torch() -> None:
    for name in ("CPU", "Undefined", "BackendSelect", *(alias.name for alias in ALIASES)):
        assert parse_dispatch_key(name).is_alias == C._dispatch_is_alias_key(
            C._dispatch_key_parse(name)
        )


@pytest.mark.parametrize("operation", ["__or__", "__and__", "__sub__"])
def test_set_operations_on_random_sets_are_those_of_torch(operation: str) -> None:
    masks = random_masks(120)
    for first, second in zip(masks, reversed(masks), strict=True):
        ours = getattr(ours_for(first), operation)(ours_for(second))
        theirs = getattr(theirs_for(first), operation)(theirs_for(second))
        assert (repr(ours), ours.raw_repr()) == (repr(theirs), theirs.raw_repr())


@pytest.mark.parametrize("name", KEYS)
def test_add_remove_and_has_on_random_sets_are_those_of_torch(name: str) -> None:
    key, reference = parse_dispatch_key(name), KEYS[name]
    for mask in random_masks(20):
        ours, theirs = ours_for(mask), theirs_for(mask)
        assert ours.add(key).raw_repr() == theirs.add(reference).raw_repr()
        assert ours.remove(key).raw_repr() == theirs.remove(reference).raw_repr()
        assert ours.has(key) == theirs.has(reference)


def test_the_highest_key_of_random_sets_is_that_of_torch() -> None:
    for mask in random_masks(200):
        assert (
            EVERY[ours_for(mask).highestPriorityTypeId().name]
            == theirs_for(mask).highestPriorityTypeId()
        )


@pytest.mark.parametrize(
    "device",
    [
        *(
            "cpu",
            "cuda",
            "ipu",
            "xpu",
            "hip",
            "ve",
            "fpga",
            "maia",
            "xla",
            "lazy",
            "vulkan",
            "mps",
            "meta",
            "hpu",
        ),
        *("mtia", "privateuseone"),
    ],
)
def test_the_key_of_a_device_type_is_that_of_torch(device: str) -> None:
    assert dispatch_key_for_device(device).name == C._dispatch_key_for_device(device)


def test_functionalities_are_complete() -> None:
    assert len(FUNCTIONALITIES) == (C._dispatch_keyset_full().raw_repr() >> 16).bit_length()


MODES = {
    "no mode": lambda lib: [],
    "left within it": lambda lib: [lib.inference_mode(), lib.inference_mode(False)],
    "left twice": lambda lib: [
        lib.inference_mode(),
        lib.inference_mode(False),
        lib.inference_mode(),
        lib.inference_mode(False),
    ],
    "no_grad": lambda lib: [lib.no_grad(), lib.enable_grad()],
}


@pytest.mark.parametrize("name", MODES)
def test_modes_that_were_left_include_and_exclude_the_keys_of_torch(name: str) -> None:
    sets = []
    for lib, own in ((torch, C), (dovetail, dovetail._C)):
        with ExitStack() as stack:
            for mode in MODES[name](lib):
                stack.enter_context(mode)
            found = own._dispatch_tls_local_include_set(), own._dispatch_tls_local_exclude_set()
        sets.append([each.raw_repr() & TORCH_BITS for each in found])
    assert sets[0] == sets[1]
