"""Whether one schema may replace another: for programs that call it, and for saved ones."""

from __future__ import annotations

import re

import pytest

from dovetail_dispatcher import FunctionSchema, parse_schema
from dovetail_dispatcher.schema.compatibility import is_subtype


def schema(text: str) -> FunctionSchema:
    """Return the schema of ``cc::f`` with these arguments and returns."""
    return parse_schema(f"cc::f{text}")


# -- programs that call the old one ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("(Tensor x) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Tensor x, int n=2) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Tensor x, int n=2, *, float e=0.5) -> Tensor", "(Tensor x, int n=2) -> Tensor"),
        ("(Tensor x, int n=2) -> Tensor", "(Tensor x, int n) -> Tensor"),
        ("(Tensor? x) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Scalar s) -> Tensor", "(int s) -> Tensor"),
        ("(Scalar s) -> Tensor", "(float s) -> Tensor"),
        ("(Tensor x) -> int", "(Tensor x) -> int?"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, *, int n) -> Tensor"),
        (
            "(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        ),
    ],
)
def test_a_schema_that_takes_whatever_the_old_one_takes_may_replace_it(new: str, old: str) -> None:
    assert schema(new).is_backward_compatible_with(schema(old))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("(Tensor x, int n) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Tensor x) -> Tensor", "(Tensor x, int n=2) -> Tensor"),
        ("(Tensor x) -> Tensor", "(Tensor? x) -> Tensor"),
        ("(Tensor y) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, int n=2) -> Tensor"),
        ("(Tensor x, int n=3) -> Tensor", "(Tensor x, int n=2) -> Tensor"),
        ("(Tensor x, *, int n) -> Tensor", "(Tensor x, int n) -> Tensor"),
        ("(int s) -> Tensor", "(Scalar s) -> Tensor"),
        ("(int[2] s) -> Tensor", "(int[3] s) -> Tensor"),
        ("(Tensor x) -> int?", "(Tensor x) -> int"),
        ("(Tensor x) -> (Tensor, Tensor)", "(Tensor x) -> Tensor"),
        ("(Tensor(a!) x) -> Tensor(a!)", "(Tensor x) -> Tensor"),
        ("(Tensor x, ...) -> Tensor", "(Tensor x) -> Tensor"),
        ("(Tensor x) -> ...", "(Tensor x) -> Tensor"),
        (
            "(Tensor x, *, Tensor(a!) out, Tensor(b!) more) -> (Tensor(a!), Tensor(b!))",
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "(*, Tensor(a!) out, Tensor(b!) more) -> Tensor(a!)",
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        ),
    ],
)
def test_a_schema_that_refuses_or_changes_something_may_not(new: str, old: str) -> None:
    assert not schema(new).is_backward_compatible_with(schema(old))


def test_schemas_of_other_operators_do_not_replace_each_other() -> None:
    text = "(Tensor x) -> Tensor"
    assert not parse_schema(f"cc::g{text}").is_backward_compatible_with(schema(text))
    assert not parse_schema(f"cc::f.o{text}").is_backward_compatible_with(schema(text))
    compatible, why = parse_schema(f"cc::g{text}").check_forward_compatible_with(schema(text))
    assert (compatible, why) == (False, "")


# -- programs that were written for the new one ----------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("(Tensor x) -> Tensor", "(Tensor x) -> Tensor", None),
        ("(Tensor x, int n=2) -> Tensor", "(Tensor x) -> Tensor", None),
        ("(int s) -> Tensor", "(Scalar s) -> Tensor", None),
        ("(Tensor x) -> Tensor", "(Tensor? x) -> Tensor", None),
        (
            "(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            None,
        ),
        ("(Tensor x, int n) -> Tensor", "(Tensor x) -> Tensor", "of type int did not provide a"),
        (
            "(Tensor x, int[2] n=0) -> Tensor",
            "(Tensor x) -> Tensor",
            r"of type int\[\] has a container type as its default value",
        ),
        ("(Tensor? x) -> Tensor", "(Tensor x) -> Tensor", "'x' is not forward compatible"),
        ("(Tensor y) -> Tensor", "(Tensor x) -> Tensor", "'y' is not forward compatible"),
        ("(int n=3) -> Tensor", "(int n=2) -> Tensor", "'n' is not forward compatible"),
        ("(int n=2) -> Tensor", "(int n) -> Tensor", "'n' is not forward compatible"),
        (
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            "(Tensor x) -> Tensor",
            "same number of out arguments",
        ),
        (
            "(Tensor x, *, Tensor(a!) into) -> Tensor(a!)",
            "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            "Out argument ''into is not FC",
        ),
        ("(Tensor x) -> (Tensor, Tensor)", "(Tensor x) -> Tensor", "^$"),
    ],
)
def test_what_is_written_for_a_new_schema_may_be_read_by_the_old_one(
    new: str, old: str, why: str | None
) -> None:
    compatible, reason = schema(new).check_forward_compatible_with(schema(old))
    assert compatible is (why is None)
    assert re.search(why or "^$", reason)


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("int", "int", True),
        ("int", "float", False),
        ("int", "Any", True),
        ("int?", "int?", True),
        ("int?", "Scalar?", True),
        ("int?", "int", False),
        ("int", "int?", True),
        ("NoneType", "int?", True),
        ("complex", "Scalar", True),
        ("bool", "Scalar", False),
        ("str", "Scalar", False),
        ("int[]", "int[]", True),
        ("int[]", "Scalar[]", False),
        ("(int, int)", "(Scalar, int?)", True),
        ("(int, str)", "(int, int)", False),
        ("(int, int)", "(int, int, int)", False),
        ("int", "Union(int, str)", True),
        ("float", "Union(int, str)", False),
        ("Union(int, str)", "Union(str, int, float)", True),
        ("Union(int, float)", "Union(int, str)", False),
    ],
)
def test_every_value_of_a_narrow_type_is_one_of_the_wide(
    narrow: str, wide: str, expected: bool
) -> None:
    one, other = (schema(f"({each} x) -> ()").arguments[0].type for each in (narrow, wide))
    assert is_subtype(one, other) is expected
