"""How a call is bound to a schema, and how its values are cast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail_kernel
from dovetail_dispatcher.schema import CastError, bind, bind_of_function, caster, parse_schema


class Tensor(dovetail_kernel.TensorBase):
    """A tensor with the one thing that casts need."""

    def __new__(cls, value: Any) -> Any:
        self = object.__new__(cls)
        self.array = np.asarray(value)
        return self

    def item(self) -> Any:
        return self.array.item()

    def __repr__(self) -> str:
        return f"Tensor({self.array})"


def cast(type_text: str, value: Any) -> Any:
    return caster(parse_schema(f"f({type_text} x) -> ()").arguments[0].real_type)(value)


def same(first: object, second: object) -> bool:
    return type(first) is type(second) and first == second


@pytest.mark.parametrize(
    ("type_text", "value", "expected"),
    [
        ("int", True, 1),
        ("int", np.int64(3), 3),
        ("int", Tensor(2.7), 2),
        ("int", Tensor([[4]]), 4),
        ("SymInt", Tensor(3), 3),
        ("float", 3, 3.0),
        ("float", True, 1.0),
        ("float", np.float32(1.5), 1.5),
        ("float", Tensor(2.5), 2.5),
        ("bool", 2, True),
        ("bool", Tensor(0), False),
        ("bool", None, False),
        ("NoneType", None, None),
        ("ScalarType", float, dovetail_kernel.float64),
        ("Union(int, str)", b"a", "a"),
        ("Union(int, NoneType)", None, None),
        ("Union(int, float)", np.float32(1.5), 1.5),
        ("complex", 1.5, 1.5 + 0j),
        ("Scalar", True, True),
        ("Scalar", 2j, 2j),
        ("Scalar", np.int64(3), 3),
        ("Scalar", np.float64(1.5), 1.5),
        ("str", b"abc", "abc"),
        ("int[]", (1, 2), [1, 2]),
        ("int[]", dovetail_kernel.Size((1, 2)), [1, 2]),
        ("int[]", range(2), [0, 1]),
        ("int[]", np.array([1, 2]), [1, 2]),
        ("int[2]", 3, [3, 3]),
        ("int[2]", [1, 2, 3], [1, 2, 3]),
        ("int[2]?", None, None),
        ("float[]", [1, True], [1.0, 1.0]),
        ("Tensor", None, None),
        ("Tensor?[]", [None], [None]),
        ("(int, float)", [1, 2], (1, 2.0)),
        ("Dict(str, float)", {"a": 1}, {"a": 1.0}),
        ("Union(int, str)", "a", "a"),
        ("ScalarType", dovetail_kernel.float32, dovetail_kernel.float32),
        ("ScalarType", 7, dovetail_kernel.float64),
        ("Device", "cpu", dovetail_kernel.Device("cpu")),
        ("Layout", 0, dovetail_kernel.strided),
        ("MemoryFormat", dovetail_kernel.channels_last, dovetail_kernel.channels_last),
    ],
)
def test_a_value_is_cast(type_text: str, value: Any, expected: Any) -> None:
    assert same(cast(type_text, value), expected)


@pytest.mark.parametrize(
    ("type_text", "value"),
    [
        ("int", 1.5),
        ("int", "1"),
        ("int", None),
        ("int", 2**70),
        ("int", Tensor([1, 2])),
        ("int", Tensor(1j)),
        ("int", Tensor(float("inf"))),
        ("int", Tensor(float("nan"))),
        ("float", Tensor(1j)),
        ("float", 10**400),
        ("complex", 10**400),
        ("float", Tensor([1.0, 2.0])),
        ("NoneType", 0),
        ("(int, int)", 1),
        ("Dict(str, int)", [1]),
        ("Stream", 1),
        ("float", "1"),
        ("float", 1j),
        ("bool", "a"),
        ("bool", [1]),
        ("Scalar", Tensor(1)),
        ("Scalar", "1"),
        ("str", 1),
        ("str", b"\xff"),
        ("int[]", 3),
        ("int[]", [1.5]),
        ("int[]", "12"),
        ("Tensor", 1),
        ("Tensor[]", [None]),
        ("Tensor[]", Tensor([1])),
        ("(int, int)", (1,)),
        ("Dict(str, int)", {1: 1}),
        ("Union(int, str)", [1]),
        ("ScalarType", "float"),
        ("ScalarType", 99),
        ("Device", 0),
        ("Generator", 3),
        ("Layout", "diagonal"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(type_text: str, value: Any) -> None:
    with pytest.raises(CastError):
        cast(type_text, value)


def test_a_type_has_one_caster() -> None:
    declared = parse_schema("f(int[2]? x) -> ()").arguments[0].real_type
    assert caster(declared) is caster(declared)


SCHEMA = parse_schema(
    "ns::a(Tensor x, int i, int[] l=[1, 2], *, float z=1.5, ScalarType d=long) -> ()"
)


def test_arguments_are_bound_in_schema_order_with_defaults() -> None:
    x = Tensor(1)
    assert bind(SCHEMA, (x,), {"z": 2, "i": True}) == [x, 1, [1, 2], 2.0, dovetail_kernel.int64]


def test_a_default_list_is_new_for_every_call() -> None:
    first, second = (bind(SCHEMA, (None, 1), {})[2] for _ in range(2))
    assert first is not second


def test_a_number_for_a_tensor_is_wrapped_on_request() -> None:
    schema = parse_schema("f(Tensor x, Tensor? y) -> ()")
    found = bind(schema, (2, 3.5), {}, Tensor, number_arguments=("x", "y"))
    assert [each.item() for each in found] == [2, 3.5]


def test_a_number_is_wrapped_only_for_the_arguments_that_are_named() -> None:
    schema = parse_schema("f(Tensor x, Tensor? y) -> ()")
    with pytest.raises(RuntimeError, match="argument 'x' but instead found type 'int'"):
        bind(schema, (2, 3.5), {}, Tensor, number_arguments=("y",))


def test_an_argument_may_be_called_self() -> None:
    assert bind(parse_schema("f(int self) -> ()"), (), {"self": 1}) == [1]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (None,),
            {},
            "ns::a() is missing value for argument 'i'. Declaration: ns::a(Tensor x, int i,",
        ),
        (
            (None, 1, [], 2.0),
            {},
            "ns::a() takes 3 positional argument(s) but 4 was/were given.  Declaration: ns::a(",
        ),
        (
            (1,) * 6,
            {},
            "ns::a() expected at most 5 argument(s) but "
            "received 6 argument(s). Declaration: ns::a(",
        ),
        (
            (None, 1),
            {"zz": 1},
            "Unknown keyword argument 'zz' for operator 'ns::a'. Schema: ns::a(",
        ),
        (
            (None, 1),
            {"x": 1},
            "Argument 'x' specified both as positional and keyword argument. Schema: ns::a(",
        ),
        (
            (None, 1.5),
            {},
            "ns::a() Expected a value of type 'int' for argument "
            "'i' but instead found type 'float'.\n"
            "Position: 1\nValue: 1.5\nDeclaration: ns::a(",
        ),
        (
            (None, 1),
            {"d": "x"},
            "Expected a value of type 'int' for argument 'd' but instead found type 'str'.",
        ),
        ((1, 1), {}, "Cast error details: Unable to cast 1 to Tensor"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_the_words_of_torch(
    args: Any, kwargs: Any, message: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        bind(SCHEMA, args, kwargs)
    assert message in str(caught.value)


@pytest.mark.parametrize("optional", ["", "?"])
@pytest.mark.parametrize(
    ("type_text", "spoken", "value", "got"),
    [
        ("int[]", "tuple of ints", 1.5, "float"),
        ("SymInt[2]", "tuple of ints", [1, "a"], "list of str"),
        ("float[]", "tuple of floats", [1.0, "a"], "list of str"),
        ("bool[3]", "tuple of bools", "a", "str"),
        ("Tensor[]", "tuple of Tensors", [1], "list of int"),
        ("Scalar", "Number", "a", "str"),
    ],
)
def test_functions_call_lists_and_numbers_what_pytorch_calls_them(
    type_text: str, spoken: str, value: object, got: str, optional: str
) -> None:
    schema = parse_schema(f"t::f({type_text}{optional} x) -> ()")
    with pytest.raises(TypeError) as raised:
        bind_of_function(schema, (value,), {})
    start = f"f(): argument 'x' (position 1) must be {spoken}, not {got}. The operator says: "
    assert str(raised.value).startswith(start)
