"""Schemas that are long, deep or large, and defaults that are easily written wrongly."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from dovetail_dispatcher.schema import SchemaError, parse_schema


def seconds(text: str) -> float:
    """Return the least processor time of three that a refusal of the text takes."""
    times = []
    for trial in range(3):
        start = time.process_time()
        with pytest.raises(SchemaError):
            parse_schema(f"f{trial}{text}")
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        ("(int", "["),
        ("(int", "[]"),
        ('(str x="', '\\"'),
        ("(str x=", '"""\\'),
        ("(str x=", "'\"\\"),
        (" ", "\\\n"),
        (" ", "# note\n"),
        ("(int x=", "9"),
        ("(int x=0x", "f"),
        ("(float x=", "9"),
        ("(", "t."),
        ("(Tensor(a", "|a"),
    ],
)
def test_a_refusal_of_a_long_text_takes_time_in_proportion(start: str, unit: str) -> None:
    short, long = (start + unit * (size // len(unit)) for size in (10_000, 160_000))
    for _ in range(3):
        grown = seconds(long)
        if grown < 0.02 or grown < 60 * seconds(short):
            return
    pytest.fail(f"sixteen times the length takes {grown:.3f} s")


@pytest.mark.parametrize("opening", ["Union(", "Future(", "(", "Dict(int, ", "Union(int, ("])
@pytest.mark.parametrize("count", [400, 100_000])
def test_types_nested_too_deeply_are_refused_with_their_place(opening: str, count: int) -> None:
    with pytest.raises(SchemaError, match="types are nested more than 64 deep") as caught:
        parse_schema(f"f({opening * count}int x) -> ()")
    assert " <--- HERE" in str(caught.value)


def test_types_nested_by_suffixes_count_too() -> None:
    parse_schema(f"f(int{'[]' * 63} x) -> ()")
    with pytest.raises(SchemaError, match="types are nested more than 64 deep"):
        parse_schema(f"f(int{'[]' * 64} x) -> ()")
    nested = "int" + "[]" * 40
    with pytest.raises(SchemaError, match="types are nested more than 64 deep"):
        parse_schema(f"f(Future({nested}){'[]' * 40} x) -> ()")


@pytest.mark.parametrize("declared", ["int[2000000000] a=1", "float[2000000000] a", "int[257]? a"])
def test_a_list_of_a_large_size_is_refused_before_it_is_made(declared: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(SchemaError, match="the size of a list is 256 at most"):
            parse_schema(f"f({declared}) -> ()")
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert parse_schema("f(int[256] a=1) -> ()").arguments[0].default_value == (1,) * 256


def test_what_is_kept_of_parsed_schemas_is_short() -> None:
    short, long = (
        "(" + ", ".join(f"int a{number}" for number in range(count)) + ") -> ()"
        for count in (10, 1000)
    )
    assert parse_schema(f"f{short}").arguments is parse_schema(f"g{short}").arguments
    assert parse_schema(f"f{long}").arguments is not parse_schema(f"g{long}").arguments


@pytest.mark.parametrize(
    "default",
    [
        "int x=" + "9" * 5000,
        "int x=0x" + "f" * 17,
        "int x=-9223372036854775809",
        "float x=0x" + "f" * 300,
        "float x=1e999",
        "float x=1e-999",
        "complex x=1e999j",
        "complex x=0x" + "f" * 5000,
        "Scalar x=-1e999j",
    ],
)
def test_a_number_out_of_range_is_refused(default: str) -> None:
    with pytest.raises(SchemaError, match=r"is out of range|is not a 64-bit integer"):
        parse_schema(f"f({default}) -> ()")


@pytest.mark.parametrize(
    "text",
    [
        "f(float a=float) -> ()",
        "f(complex c=strided) -> ()",
        "f(float a=Mean, complex b=long) -> ()",
        "f(complex a=0., complex b=-0., complex c=-0.j, Scalar d=0.j) -> ()",
        "f(complex[] a=[1., 2.j, -0.j]) -> ()",
        "f(Scalar a=1.0000000000000001e+300, float b=4.9406564584124654e-324) -> ()",
    ],
)
def test_a_default_is_written_as_it_was_read(text: str) -> None:
    schema = parse_schema(text)
    assert str(schema) == text
    again = parse_schema(f"g{str(schema)[1:]}")
    assert [repr(argument.default_value) for argument in again.arguments] == [
        repr(argument.default_value) for argument in schema.arguments
    ]


def test_an_alias_inside_of_brackets_means_nothing() -> None:
    schema = parse_schema("f(Union(t!, int) x, Tensor! y) -> ()")
    assert parse_schema(str(schema)) == schema


def test_a_hexadecimal_default_of_a_complex_argument_is_read() -> None:
    assert parse_schema("f(complex c=0x10) -> ()").arguments[0].default_value == 16 + 0j


@pytest.mark.parametrize("members", ["Any, int", "int, Any", "Any, Tensor, str", "Any, Any"])
def test_a_union_with_any_is_refused(members: str) -> None:
    with pytest.raises(SchemaError, match="a Union with Any is Any"):
        parse_schema(f"f(Union({members}) x) -> ()")


@pytest.mark.parametrize(
    ("union", "simpler"),
    [
        ("Union(Any, None, int)", "Any?"),
        ("Union(Scalar, int)", "Scalar"),
        ("Union(float, int, complex)", "Scalar"),
        ("Union(float, int, complex, None)", "Scalar?"),
        ("Union(float, int, complex, str)", "Union(Scalar, str)"),
        ("Union(float, int)", "Union(float, int)"),
    ],
)
def test_a_union_leaves_out_what_another_member_includes(union: str, simpler: str) -> None:
    assert str(parse_schema(f"f({union} x) -> ()")) == f"f({simpler} x) -> ()"


@pytest.mark.parametrize(
    "text",
    [
        "f(int x) \\\n -> ()",
        "f \\\n (int x) -> ()",
        "f(int x)\\\n\\\n -> ()",
        "f(int x \\\n) -> ()",
    ],
)
def test_a_line_is_continued_after_a_backslash(text: str) -> None:
    assert str(parse_schema(text)) == "f(int x) -> ()"


@pytest.mark.parametrize("text", ["f(int x)\n\\\n -> ()", "f(int x) # a \\\n -> ()"])
def test_a_line_break_without_a_backslash_is_refused_between_parts(text: str) -> None:
    with pytest.raises(SchemaError, match="expected '->' but found the end of the line"):
        parse_schema(text)


@pytest.mark.parametrize(
    "text", ["f(int x=\u0663) -> ()", "f(int x=\xb2) -> ()", "f(int\xa0x) -> ()"]
)
def test_digits_and_spaces_beyond_ascii_are_no_tokens(text: str) -> None:
    with pytest.raises(SchemaError, match="expected a valid token"):
        parse_schema(text)


@pytest.mark.parametrize(
    "text", ['f(str x="a) -> ()', "f(str x='''a') -> ()", 'f(str x="a\\") -> ()']
)
def test_a_string_that_nothing_closes_is_refused_where_it_begins(text: str) -> None:
    with pytest.raises(SchemaError, match=r"expected a valid token but found '.'") as caught:
        parse_schema(text)
    caret = str(caught.value).split("\n")[2]
    assert caret.index("~") == text.index("=") + 1
