"""Version counters: of views, of what was detached, and of memory inside of function transforms."""

from __future__ import annotations

import pytest

from dovetail_kernel import VersionCounter
from dovetail_kernel.tensor import (
    DETACHED,
    DetachedCounter,
    InputCounter,
    InsideCounter,
    detach_version,
    inside_counter,
    is_known_to,
    kernel_writes,
    next_transform,
)


def test_a_counter_begins_where_it_is_told() -> None:
    assert (VersionCounter().value, VersionCounter(3).value) == (0, 3)


def test_a_detached_counter_counts_with_the_shared_one_and_shows_another_version() -> None:
    shared = VersionCounter(2)
    detached = DetachedCounter(shared)
    again = DetachedCounter(detached)
    assert (detached.value, again.value) == (2 + DETACHED, 2 + 2 * DETACHED)
    again.value += 1
    detached.value += 1
    assert shared.value == 4
    assert detached.value % DETACHED == again.value % DETACHED == 4


def test_the_counter_of_an_input_counts_with_that_of_what_was_given() -> None:
    shared = VersionCounter(5)
    inside = InputCounter(7, shared)
    inside.value += 2
    assert (inside.value, shared.value, inside.made) == (7, 7, 7)


def test_transforms_have_rising_numbers() -> None:
    first, second = next_transform(), next_transform()
    assert first < second
    made = inside_counter()
    assert isinstance(made, InsideCounter) and (made.made, made.value) == (second, 0)


@pytest.mark.parametrize("times_detached", [0, 1, 2])
@pytest.mark.parametrize(
    ("counter", "known_to"),
    [
        (VersionCounter(), []),
        (InsideCounter(4), [3, 4]),
        (InputCounter(4, VersionCounter()), [4]),
        (InputCounter(6, InsideCounter(4)), [3, 4, 6]),
        (InputCounter(6, VersionCounter()), [6]),
        (InputCounter(6, DetachedCounter(InputCounter(4, VersionCounter()))), [4, 6]),
    ],
    ids=["outside", "inside 4", "input of 4", "made in 4, input of 6", "input of 6", "of both"],
)
def test_memory_is_known_to_the_transforms_that_it_was_made_in_or_given_to(
    counter: VersionCounter, known_to: list[int], times_detached: int
) -> None:
    for _ in range(times_detached):
        counter = DetachedCounter(counter)
    assert [n for n in (3, 4, 6, 7) if is_known_to(n, counter)] == known_to


def test_memory_without_a_counter_is_known_to_none() -> None:
    assert not is_known_to(0, None)


def test_detached_memory_counts_for_itself_and_stays_where_it_was_made() -> None:
    assert detach_version(None) is detach_version(VersionCounter(3)) is None
    inside = detach_version(DetachedCounter(InsideCounter(4, value=2)))
    assert isinstance(inside, InsideCounter) and (inside.made, inside.value) == (4, 0)


@pytest.mark.parametrize("shared", [VersionCounter(3), InsideCounter(2, value=3)])
def test_a_detached_input_stays_an_input_with_a_count_of_its_own(shared: VersionCounter) -> None:
    found = detach_version(InputCounter(4, shared))
    assert isinstance(found, InputCounter) and (found.made, found.value) == (4, 0)
    assert type(found.shared) is type(shared)
    found.value += 1
    assert shared.value == 3


def test_writes_are_those_of_a_program_unless_a_kernel_says_otherwise() -> None:
    assert kernel_writes.get() is False
