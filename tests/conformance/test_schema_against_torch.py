"""Compares the schema parser with PyTorch's: on all its operators, on hand-picked schemas and on
random ones.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dovetail_dispatcher.schema import FunctionSchema, parse_schema


def torch_schemas() -> list[Any]:
    """Return PyTorch's operators, without the few whose schema text PyTorch itself does not read
    back.
    """
    schemas = []
    for schema in torch._C._jit_get_all_schemas():
        try:
            if str(torch._C.parse_schema(str(schema))) == str(schema):
                schemas.append(schema)
        except (RuntimeError, IndexError, ValueError):
            continue
    return schemas


SCHEMAS = torch_schemas()
"""Read when the module is imported: PyTorch crashes on it once other tests have destroyed libraries
of its own.
"""


def value(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default


def describe(schema: Any) -> dict[str, Any]:
    """Return what both parsers know of a schema, in plain values."""
    return {
        "name": (schema.name, schema.overload_name),
        "flags": (schema.is_mutable, schema._is_view_op()),
        "arguments": [describe_argument(argument) for argument in schema.arguments],
        "returns": [describe_argument(returned) for returned in schema.returns],
    }


def describe_argument(argument: Any) -> tuple[Any, ...]:
    alias = argument.alias_info
    return (
        argument.name,
        str(argument.type),
        str(argument.real_type),
        argument.N,
        argument.kwarg_only,
        argument.is_out,
        argument.has_default_value(),
        repr(value(argument.default_value)),
        alias and (alias.is_write, sorted(alias.before_set), sorted(alias.after_set)),
    )


def both(text: str) -> tuple[FunctionSchema | None, Any]:
    """Parse with both; None stands for a refusal."""
    try:
        theirs = torch._C.parse_schema(text)
    except (RuntimeError, IndexError, ValueError, UnicodeDecodeError):
        theirs = None
    try:
        ours = parse_schema(text)
    except RuntimeError:
        ours = None
    return ours, theirs


def test_every_operator_of_torch_is_read_and_written_as_torch_does() -> None:
    different = []
    for schema in SCHEMAS:
        text = str(schema)
        ours, theirs = both(text)
        names = [argument.name for argument in theirs.arguments]
        if (
            not text.startswith(("aten::", "prim"))
            or len(set(names)) < len(names)
            or "__torch__" in text
        ):
            continue  # other tests define operators of their own, on purpose with odd schemas
        if ours is None or str(ours) != text or describe(ours) != describe(theirs):
            different.append((text, str(ours)))
    assert len(SCHEMAS) > 2000
    assert different == []


TYPES = st.recursive(
    st.sampled_from(
        [
            "Tensor",
            "int",
            "float",
            "bool",
            "str",
            "complex",
            "Scalar",
            "ScalarType",
            "Layout",
            "MemoryFormat",
            "Device",
            "DeviceIndex",
            "Generator",
            "QScheme",
            "Storage",
            "Stream",
            "SymInt",
            "SymBool",
            "Any",
            "t",
            "NoneType",
            "Foo",
            "in",
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda t: t + "[]"),
        inner.map(lambda t: t + "?"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}, {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"Dict({p[0]}, {p[1]})"),
        inner.map(lambda t: f"Future({t})"),
    ),
    max_leaves=3,
)
ALIASED = st.sampled_from(
    [
        "Tensor(a)",
        "Tensor(a!)",
        "Tensor(a)[]",
        "Tensor(a!)[]",
        "Tensor(a!)?",
        "Tensor(a)[]?",
        "Tensor(a",
        "->",
        "*)",
        "Tensor(a!",
        "->",
        "b)",
        "Tensor(*)",
        "Tensor[](a)",
        "Tensor(a)[](b)",
        "int(a!)",
        "Tensor(a",
        "Tensor()",
        "Tensor(a!)!",
    ]
)
SIZED = st.sampled_from(
    [
        "int[2]",
        "SymInt[3]",
        "float[2]",
        "bool[2]",
        "int[2]?",
        "Tensor[3]",
        "int[]",
        "float[]",
        "bool[]",
        "Scalar[]",
    ]
)
DEFAULTS = st.sampled_from(
    [
        "None",
        "1",
        "-2",
        "2.5",
        "-0.125",
        "1e-3",
        "2j",
        "True",
        "False",
        "[]",
        "[1,2]",
        "[1.5,2.]",
        "[True]",
        "float",
        "long",
        "Mean",
        "strided",
        "nosuch",
        "contiguous_format",
        '"text"',
        "[1",
        "(",
        "-",
        "--1",
        "0",
        "1e16",
        "[3,3]",
        "int32",
    ]
)
NAMES = st.sampled_from(["x", "y", "z", "self", "out", "other", "in", "lambda"])


@st.composite
def arguments(draw: st.DrawFn) -> str:
    text = f"{draw(st.one_of(TYPES, TYPES, ALIASED, SIZED))} {draw(NAMES)}"
    return f"{text}={draw(DEFAULTS)}" if draw(st.integers(0, 2)) == 0 else text


@st.composite
def schema_texts(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(st.one_of(arguments(), arguments(), arguments(), st.just("*")), max_size=4)
    )
    if draw(st.integers(0, 9)) == 0:
        parts.append("...")
    returned = draw(st.lists(st.one_of(TYPES, ALIASED), max_size=3))
    returns = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    name = draw(
        st.sampled_from(["f", "ns::f", "ns::f.out", "f.default", "f.__a", "f.1", "ns:f", "in"])
    )
    return f"{name}({', '.join(parts)}) -> {returns}"


def torch_writes_what_it_reads(theirs: Any) -> bool:
    try:
        return bool(torch._C.parse_schema(str(theirs)) == theirs)
    except (RuntimeError, IndexError, ValueError):
        return False


NUMBER_FOR_COMPLEX = re.compile(r"complex[^,)=]*=")
"""A default of a complex argument: PyTorch fails on every number there (``ValueError: stod``)."""


@settings(max_examples=400, deadline=None)
@given(schema_texts())
def test_random_schemas_are_accepted_refused_and_described_as_torch_does(text: str) -> None:
    assume("Scalar??" not in text)  # PyTorch makes an Optional[Union[number]] of it
    assume(not NUMBER_FOR_COMPLEX.search(text))
    ours, theirs = both(text)
    if theirs is None:
        assert ours is None
        return
    names = [argument.name for argument in theirs.arguments]
    if len(set(names)) < len(names):
        assert ours is None
        return
    assert ours is not None
    assert describe(ours) == describe(theirs)
    assert parse_schema(str(ours)) == ours
    if torch_writes_what_it_reads(theirs):
        assert str(ours) == str(theirs)


@settings(max_examples=300, deadline=None)
@given(schema_texts(), st.data())
def test_damaged_schemas_are_refused_exactly_when_torch_refuses_them(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    patch = data.draw(st.sampled_from(["", ",", "(", ")", "?", "[]", ":", " ", "*", "$"]))
    damaged = text[:start] + patch + text[start + 1 :]
    assume(not NUMBER_FOR_COMPLEX.search(damaged))
    ours, theirs = both(damaged)
    names = [argument.name for argument in theirs.arguments] if theirs is not None else []
    if len(set(names)) == len(names):
        assert (ours is None) == (theirs is None)


@pytest.mark.parametrize(
    "text",
    [
        "f(",
        "f(Tensor) -> ()",
        "f()",
        "f() -> () x",
        "a::b::c() -> ()",
        "f(int in) -> ()",
        "f(int x=--1) -> ()",
        "f(int[] x=1) -> ()",
        "f(Tensor x=1) -> ()",
        "f(..., Tensor x) -> ()",
        "f(Foo x) -> ()",
        "f",
        "f.default() -> ()",
        "f(Tensor x, int y=1, int z) -> ()",
        "f(str x='\\x41') -> ()",
        "f($x) -> ()",
    ],
)
def test_refusals_give_the_reason_of_torch(text: str) -> None:
    with pytest.raises(RuntimeError) as theirs:
        torch._C.parse_schema(text)
    with pytest.raises(RuntimeError) as ours:
        parse_schema(text)
    message = str(theirs.value)
    reason = message.strip().split("\n")[0].split(", please report a bug to PyTorch. ")[-1]
    reason = reason.split("; for a full list")[0].removesuffix(":").removesuffix(" here")
    assert reason.split(" in f(")[0] in in_terms_of_the_parser(str(ours.value))


def in_terms_of_the_parser(text: str) -> str:
    """Return an error with the kinds of tokens called as PyTorch's parser calls them."""
    for ours, theirs in (
        (r"expected a (?:name|string)", "expected ident"),
        (r"expected a number", "expected number"),
        (r"expected the end of the text", "expected eof"),
        (r"expected '->'", "expected arrow"),
        (r"expected '\('", "expected eof"),  # where the arguments begin: a name alone would end
        (r"expected '(\w+|.)'", r"expected \1"),
        (r"found the end of the text", "found 'eof'"),
        (r"found the name '\w+'", "found 'ident'"),
        (r"found the number \S+", "found 'number'"),
        (r"found '->'", "found 'arrow'"),
    ):
        text = re.sub(ours, theirs, text)
    return text


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (new, old)
        for old in (
            "f(Tensor x, int y) -> Tensor",
            "f(Tensor x, int y=1) -> Tensor?",
            "f(Tensor x, *, int y) -> Tensor",
            "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        )
        for new in (
            "f(Tensor x, int y) -> Tensor",
            "f(Tensor x, int y=1, int z=2) -> Tensor",
            "f(Tensor x, int? y) -> Tensor",
            "f(Tensor x, int y, int z) -> Tensor",
            "f(Any x, Scalar y=1) -> Tensor?",
            "f(Tensor x) -> Tensor",
            "f(Tensor x, int q=1, *, Tensor(a!) out) -> Tensor(a!)",
            "f(Tensor x, *, int y) -> Tensor",
        )
    ],
)
def test_backward_compatibility_is_judged_as_torch_does(new: str, old: str) -> None:
    ours = parse_schema(new).is_backward_compatible_with(parse_schema(old))
    theirs = torch._C.parse_schema(new).is_backward_compatible_with(torch._C.parse_schema(old))
    assert ours == theirs


EVOLVED = (
    "f(Tensor x) -> Tensor",
    "f(Tensor? x) -> Tensor?",
    "f(Tensor(a!) x) -> Tensor(a!)",
    "f(Tensor y) -> Tensor",
    "f(Tensor x, int n) -> Tensor",
    "f(Tensor x, int n=1) -> Tensor",
    "f(Tensor x, int n=2, int m=3) -> Tensor",
    "f(Tensor x, Scalar n=1, int[] sizes=[]) -> Tensor",
    "f(Tensor x, *, int n=1) -> Tensor",
    "f(Tensor x, int[2] n) -> Tensor",
    "f(Tensor x, int[] n) -> Tensor",
    "f(Tensor x, int[]? n=None) -> Tensor",
    "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    "f(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
    "f(Tensor x, int n, *, Tensor(b!) out) -> Tensor(b!)",
    "f(Tensor x, ...) -> Tensor",
    "f.other(Tensor x) -> Tensor",
    "f(Tensor x) -> int",
)


@pytest.mark.parametrize("new", EVOLVED)
def test_forward_compatibility_is_judged_as_torch_does_with_its_reason(new: str) -> None:
    for old in EVOLVED:
        ours = parse_schema(new).check_forward_compatible_with(parse_schema(old))
        judge = torch._C.parse_schema(new).check_forward_compatible_with
        try:
            theirs = judge(torch._C.parse_schema(old))
        except IndexError:  # PyTorch reads behind its list
            continue
        assert ours == theirs, old
