"""What the schema parser reads, writes and refuses."""

from __future__ import annotations

import copy
import pickle

import pytest

from dovetail_dispatcher.calls.plans.schema_facts import facts_of
from dovetail_dispatcher.schema import (
    IntType,
    ListType,
    OptionalType,
    ScalarTypeType,
    SchemaError,
    SymIntType,
    TensorType,
    parse_name,
    parse_schema,
    register_custom_class,
)


@pytest.mark.parametrize(
    "text",
    [
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
        "aten::sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        'f(int[2] k=0, float p=0.5, bool b=True, str mode="mean") -> ()',
        "f(Tensor?[] x, Tensor[]? y, int[2]? z, Tensor[][] w) -> (Tensor a, Tensor b)",
        "f((Tensor, int) x, Dict(str, Tensor) d, Future(Tensor) p) -> ((Tensor))",
        "f(Tensor x, ...) -> ...",
        "f(t[] x) -> t",
    ],
)
def test_a_canonical_schema_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor! x) -> ()",
        "f(Tensor(a!)?[] x) -> ()",
        "f(Tensor(b|a) x) -> ()",
        "f(Tensor(a)[][] x) -> ()",
        'f(Device d="cuda:1") -> ()',
        "f(int[] x=[1, 1]) -> ()",
        "f(complex z=2.j) -> ()",
        "f(float x=-0.) -> ()",
    ],
)
def test_what_torch_writes_unreadably_is_written_readably(text: str) -> None:
    assert str(parse_schema(text)) == text


def test_white_space_and_comments_do_not_matter() -> None:
    assert parse_schema(" f . ov (int\nx ) -> ( ) # note") == parse_schema("f.ov(int x) -> ()")


def test_a_real_default_of_a_complex_argument_stays_real() -> None:
    assert parse_schema("f(complex z=1.5) -> ()").arguments[0].default_value == 1.5 + 0j


def test_a_sized_list_repeats_its_scalar_default() -> None:
    argument = parse_schema("f(int[3] k=2) -> ()").arguments[0]
    assert (argument.N, argument.default_value) == (3, (2, 2, 2))


def test_type_is_collapsed_and_real_type_is_not() -> None:
    argument = parse_schema("f(ScalarType? dtype=None) -> ()").arguments[0]
    assert argument.type is OptionalType(IntType())
    assert argument.real_type is OptionalType(ScalarTypeType())


def test_equal_types_are_one_object() -> None:
    assert ListType(TensorType(), 2) is parse_schema("f(Tensor[2] x) -> ()").arguments[0].type


def test_types_survive_pickling_and_copying_as_the_same_object() -> None:
    declared = OptionalType(ListType(SymIntType(), 2))
    assert pickle.loads(pickle.dumps(declared)) is declared
    assert copy.deepcopy(declared) is declared


def test_a_schema_survives_pickling() -> None:
    schema = parse_schema("ns::f(Tensor(a!) x, int y=1) -> Tensor(a!)")
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_a_pickled_schema_is_its_fields_whatever_was_asked_of_it() -> None:
    schema = parse_schema("ns::f(Tensor x, int y=1) -> Tensor")
    before = pickle.dumps(schema)
    assert facts_of(schema).positional == ("x", "y")
    assert facts_of(schema) is facts_of(schema)
    assert not schema.is_mutable
    assert pickle.dumps(schema) == before


def test_schemas_that_differ_in_a_default_are_not_equal() -> None:
    assert parse_schema("f(int x=1) -> ()") != parse_schema("f(int x=True) -> ()")


def test_equal_schemas_have_equal_hashes() -> None:
    assert hash(parse_schema("f(SymInt x) -> ()")) == hash(parse_schema("f(int x) -> ()"))


def test_a_schema_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        parse_schema("f() -> ()").name = "g"  # type: ignore[misc]


def test_a_written_argument_makes_the_schema_mutable_and_no_view() -> None:
    schema = parse_schema("f(Tensor(a!) x) -> Tensor(a!)")
    assert (schema.is_mutable, schema._is_view_op()) == (True, False)


def test_an_aliased_argument_that_is_not_written_makes_a_view() -> None:
    schema = parse_schema("f(Tensor(a) x) -> Tensor(a)")
    assert (schema.is_mutable, schema._is_view_op()) == (False, True)


def test_a_keyword_only_written_argument_is_an_out_argument() -> None:
    schema = parse_schema("f(Tensor(a!) x, *, Tensor(b!) out) -> ()")
    assert [argument.is_out for argument in schema.arguments] == [False, True]


def test_a_name_is_split_into_namespace_name_and_overload() -> None:
    name = parse_name("vision::nms.out")
    assert tuple(name) == ("vision", "nms", "out")
    assert str(name) == "vision::nms.out"


def test_a_schema_is_no_name() -> None:
    with pytest.raises(SchemaError, match=r"expected the end of the text but found '\('"):
        parse_name("vision::nms() -> ()")


def test_an_error_shows_the_source_a_caret_the_reason_and_a_remedy() -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema("ns::f(Tensor in) -> ()")
    assert str(caught.value).split("\n") == [
        "expected a name but found 'in' here:",
        "ns::f(Tensor in) -> ()",
        "             ~~ <--- HERE",
        "in is a keyword of the schema language; use another name, such as 'in_'.",
    ]


def test_two_arguments_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="argument name 'x' is used twice"):
        parse_schema("f(int x, int x) -> ()")


def test_a_bare_name_is_refused_as_a_schema() -> None:
    with pytest.raises(SchemaError, match="only the operator name was given"):
        parse_schema("ns::f")


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SchemaError, match=r"unknown type specifier.*\n.*\n.*\nUse one of Tensor, int"
    ) as caught:
        parse_schema("f(SymFloat x) -> ()")
    assert "  ~~~~~~~~ <--- HERE" in str(caught.value)


def test_a_schema_broken_between_its_parts_is_refused() -> None:
    with pytest.raises(SchemaError, match="but found the end of the line"):
        parse_schema("f(int x)\n-> ()")


def test_an_unregistered_custom_class_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Unknown custom class type a\.Nothing\. Please ensure"):
        parse_schema("f(__torch__.torch.classes.a.Nothing x) -> ()")


def test_a_registered_custom_class_is_a_type() -> None:
    class Decoder: ...

    declared = register_custom_class("schema_tests.Decoder", Decoder)
    schema = parse_schema("f(__torch__.torch.classes.schema_tests.Decoder x) -> ()")
    assert schema.arguments[0].type is declared
    assert "__torch__.torch.classes.schema_tests.Decoder x" in str(schema)


def test_an_appended_argument_with_a_default_is_backward_compatible() -> None:
    old = parse_schema("f(Tensor x) -> Tensor")
    assert parse_schema("f(Tensor x, int n=1) -> Tensor").is_backward_compatible_with(old)


def test_an_appended_argument_without_a_default_is_not_backward_compatible() -> None:
    old = parse_schema("f(Tensor x) -> Tensor")
    assert not parse_schema("f(Tensor x, int n) -> Tensor").is_backward_compatible_with(old)


def test_the_name_of_a_constant_does_not_stand_for_a_whole_list() -> None:
    assert parse_schema("f(int[2] n=1) -> ()").arguments[0].default_value == (1, 1)
    with pytest.raises(SchemaError, match="but found the name 'float'"):
        parse_schema("f(int[2] n=float) -> ()")
