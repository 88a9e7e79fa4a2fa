"""Hunts for schema texts that the parser does not survive: random ones, damaged ones, and long ones
made of repetitions.

`DOVETAIL_SCHEMAS=200000` tries more of them, `DOVETAIL_FIRST_SCHEMA` begins elsewhere.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from contextlib import suppress
from random import Random

import random_schemas

from dovetail_dispatcher.schema import SchemaError, parse_schema

SCHEMAS = int(os.environ.get("DOVETAIL_SCHEMAS", "4000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_SCHEMA", "0"))


def check(text: str) -> bool:
    """Parse, and if that works, write and parse again; return whether it works."""
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        message = str(error)
        assert " <--- HERE" in message or "only the operator name was given" in message, message
        return False
    written = str(schema)
    again = parse_schema(written)
    assert again == schema, (text, written, str(again))
    assert str(again) == written
    assert [repr(one.default_value) for one in again.arguments] == [
        repr(one.default_value) for one in schema.arguments
    ]
    assert [one.real_type for one in again.arguments] == [one.real_type for one in schema.arguments]
    return True


def test_a_random_schema_is_read_written_and_read_again_or_refused_with_its_place() -> None:
    accepted = 0
    for seed in range(FIRST, FIRST + SCHEMAS):
        random = Random(seed)
        text = random_schemas.a_schema(random)
        if seed % 3:
            text = random_schemas.damaged(random, text)
        try:
            accepted += check(text)
        except Exception as error:
            raise AssertionError(f"schema {seed}: {text!r}") from error
    assert SCHEMAS < 1000 or SCHEMAS / 20 < accepted < SCHEMAS  # neither branch is idle


def seconds(text: str) -> float:
    """Return the least time of three that a text takes that no cache knows."""
    times = []
    for trial in range(3):
        fresh = f"f{trial}{text}"
        before = time.process_time()
        with suppress(SchemaError):
            parse_schema(fresh)
        times.append(time.process_time() - before)
    return min(times)


def a_repetition(random: Random) -> tuple[str, str, str]:
    """Return how a text begins, what it repeats, and how it ends."""
    starts = [
        "(",
        "(int ",
        "(str x=",
        "(int[] x=[",
        "(int x=",
        "(Tensor(a",
        '(str x="',
        "(t x) -> ",
    ]
    unit = "".join(
        random.choices(
            [*random_schemas.PIECES, "int", "a", "9", "x=1"], k=random.choice([1, 1, 2, 3])
        )
    )
    ends = ["", ") -> ()", "x) -> ()", '") -> ()', "]"]
    return random.choice(["", *starts]), unit, random.choice(ends)


def test_the_time_of_a_long_schema_grows_with_its_length() -> None:
    for seed in range(FIRST, FIRST + max(SCHEMAS // 200, 1)):
        start, unit, end = a_repetition(Random(-seed))
        short, long = (start + unit * (size // len(unit)) + end for size in (4_000, 64_000))
        for _ in range(3):  # what takes sixteen times as long may once be disturbed, not thrice
            grown = seconds(long)
            if grown < 0.02 or grown < 60 * seconds(short):
                break
        else:
            raise AssertionError(f"repetition {seed}: {(start, unit, end)} takes {grown:.3f} s")


def test_the_memory_of_a_long_schema_grows_with_its_length() -> None:
    tracemalloc.start()
    try:
        for seed in range(FIRST, FIRST + max(SCHEMAS // 300, 1)):
            start, unit, end = a_repetition(Random(-seed))
            text = start + unit * (10_000 // len(unit)) + end
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            with suppress(SchemaError):
                parse_schema(text)
            used = tracemalloc.get_traced_memory()[1] - before
            assert used < 300 * len(text), f"repetition {seed}: {(start, unit, end)} takes {used}"
    finally:
        tracemalloc.stop()
