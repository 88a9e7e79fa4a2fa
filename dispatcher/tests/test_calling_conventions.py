"""What kernels receive and may return, and how calls that do not fit the schema are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, ops
from dovetail_kernel import TensorBase

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Libraries) -> Library:
    return library("cc", "DEF")


def define(lib: Library, schema: str, fn: Callable[..., Any], key: str = "CPU") -> Any:
    """Define an operator with one kernel and return its only overload."""
    name = lib.define(schema)
    lib.impl(name, fn, key)
    return getattr(ops.cc, name).default


# -- arguments -------------------------------------------------------------------------------------


def test_a_kernel_without_defaults_of_its_own_gets_every_argument(
    lib: Library, tensor: Tensors
) -> None:
    op = define(lib, "f(Tensor x, int n=3, *, str s='a') -> str", lambda x, n, *, s: f"{n}{s}")
    assert [op(tensor()), op(tensor(), 4), op(tensor(), s="b")] == ["3a", "4a", "3b"]


def test_a_positional_default_in_the_middle_is_not_stripped(lib: Library, tensor: Tensors) -> None:
    op = define(lib, "f(Tensor x, int a=1, int b=2) -> str", lambda x, a=10, b=20: f"{a} {b}")
    assert [op(tensor(), 1, 3), op(tensor(), 1), op(tensor(), 3)] == ["1 3", "10 20", "3 20"]


def test_a_list_equal_to_the_repeated_default_is_stripped(lib: Library, tensor: Tensors) -> None:
    op = define(
        lib,
        "f(Tensor x, float f=1.5, *, int[2] k=0) -> str",
        lambda x, f=9, k=3: f"{f} {k if k == 3 else [*k]}",
    )
    assert op(tensor(), 1.5, k=[0, 0]) == "9 3"
    assert op(tensor(), 1, k=2) == "1.0 [2, 2]"


def test_a_kernel_that_takes_anything_is_given_positional_and_keyword_arguments(
    lib: Library, tensor: Tensors
) -> None:
    op = define(
        lib,
        "f(Tensor x, int a=1, *, int c=3) -> str",
        lambda *args, **kwargs: f"{len(args)} {kwargs}",
    )
    assert [op(tensor()), op(tensor(), 2, c=4)] == ["1 {}", "2 {'c': 4}"]


def test_arguments_may_be_given_by_name(lib: Library, tensor: Tensors) -> None:
    op = define(lib, "f(Tensor self, Tensor other) -> Tensor", lambda x, y: y)
    x, y = tensor(), tensor()
    assert op(other=y, self=x) is y


def test_an_argument_named_by_a_keyword_of_python_is_given_by_name(
    lib: Library, tensor: Tensors
) -> None:
    op = define(lib, "f(Tensor x, *, Tensor from) -> Tensor", lambda x, **kwargs: kwargs["from"])
    y = tensor()
    assert op(tensor(), **{"from": y}) is y


@pytest.mark.parametrize(
    ("declared", "given", "received"),
    [
        ("int", True, 1),
        ("float", 2, 2.0),
        ("float", True, 1.0),
        ("bool", 1, True),
        ("Scalar", 1j, 1j),
        ("int[]", (1, 2), [1, 2]),
        ("int[2]", 5, [5, 5]),
        ("str", b"ab", "ab"),
        ("int?", None, None),
    ],
)
def test_arguments_are_cast_as_the_schema_says(
    declared: str, given: object, received: object, lib: Library, tensor: Tensors
) -> None:
    seen: list[Any] = []
    op = define(lib, f"f(Tensor x, {declared} v) -> ()", lambda x, v: seen.append(v))
    op(tensor(), given)
    (value,) = seen
    assert (list(value) if isinstance(value, list | tuple) else value) == received
    assert isinstance(value, list | tuple) or type(value) is type(received)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda op, x: op(),
            "cc::f() is missing value for argument 'x'. Declaration: cc::f(Tensor x",
        ),
        (lambda op, x: op(n=2), "cc::f() is missing value for argument 'x'"),
        (lambda op, x: op(x, 1, 2), "cc::f() takes 2 positional argument(s) but 3 was/were given."),
        (
            lambda op, x: op(x, 1, 2, 3),
            "expected at most 3 argument(s) but received 4 argument(s).",
        ),
        (
            lambda op, x: op(x, zz=2),
            "Unknown keyword argument 'zz' for operator 'cc::f'. Schema: cc::f(Tensor x",
        ),
        (
            lambda op, x: op(x, 1.5),
            "Expected a value of type 'int' for argument 'n' but instead found type 'float'",
        ),
        (
            lambda op, x: op(x, f="a"),
            "Expected a value of type 'float' for argument 'f' but instead found type 'str'",
        ),
        (
            lambda op, x: op(3),
            "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'",
        ),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_pytorchs_words(
    call: Callable[[Any, TensorBase], Any], words: str, lib: Library, tensor: Tensors
) -> None:
    op = define(lib, "f(Tensor x, int n=1, *, float f=1.5) -> Tensor", lambda x, n, *, f: x)
    op(tensor())
    with pytest.raises(RuntimeError, match=re.escape(words)):
        call(op, tensor())


def test_a_refused_call_names_position_value_and_declaration(lib: Library, tensor: Tensors) -> None:
    op = define(lib, "f(Tensor x, int n) -> Tensor", lambda x, n: x)
    with pytest.raises(RuntimeError) as error:
        op(tensor(), "a")
    for line in (
        "Position: 1",
        "Value: 'a'",
        "Declaration: cc::f(Tensor x, int n) -> Tensor",
        "Cast error details: ",
    ):
        assert line in str(error.value)


def test_an_exception_of_a_kernel_leaves_with_its_own_type(lib: Library, tensor: Tensors) -> None:
    def fail(x: TensorBase) -> TensorBase:
        raise KeyError("mine")

    op = define(lib, "f(Tensor x) -> Tensor", fail)
    with pytest.raises(KeyError, match="mine"):
        op(tensor())


def test_an_attribute_error_of_a_kernel_is_not_taken_for_a_wrong_argument(
    lib: Library, tensor: Tensors
) -> None:
    calls = []

    def fail(x: TensorBase) -> TensorBase:
        calls.append(x)
        raise AttributeError("mine")

    op = define(lib, "f(Tensor x) -> Tensor", fail)
    with pytest.raises(AttributeError, match="mine"):
        op(tensor())
    assert len(calls) == 1


# -- returns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "value", "received"),
    [
        ("()", None, None),
        ("int", True, 1),
        ("int[]", (1, 2), [1, 2]),
        ("(int, str)", [1, "a"], (1, "a")),
        ("bool", True, True),
        ("float", 2, 2.0),
    ],
)
def test_a_return_is_given_the_form_of_the_schema(
    returns: str, value: object, received: object, lib: Library, tensor: Tensors
) -> None:
    result = define(lib, f"f(Tensor x) -> {returns}", lambda x: value)(tensor())
    assert result == received
    assert type(result) is type(received)


def test_a_list_of_tensors_comes_back_as_a_list(lib: Library, tensor: Tensors) -> None:
    x = tensor()
    result = define(lib, "f(Tensor x) -> Tensor[]", lambda x: (x,))(x)
    assert type(result) is list
    assert result[0] is x


@pytest.mark.parametrize(
    ("returns", "value", "error", "words"),
    [
        (
            "()",
            3,
            RuntimeError,
            "Expected PythonKernelHolder for cc::f to return None but it returned something else",
        ),
        ("Tensor", 3.0, RuntimeError, "Unable to cast 3.0 to Tensor"),
        ("(Tensor, Tensor)", 3.0, TypeError, "is not an instance of 'sequence'"),
        ("(int, int)", (1,), RuntimeError, "returned 1 values, but its schema has 2 returns"),
        ("(int, int)", (1, 2, 3), RuntimeError, "returned 3 values, but its schema has 2 returns"),
        ("int", "a", RuntimeError, "Unable to cast 'a' to int"),
    ],
)
def test_a_wrong_return_is_refused(
    returns: str, value: object, error: type[Exception], words: str, lib: Library, tensor: Tensors
) -> None:
    op = define(lib, f"f(Tensor x) -> {returns}", lambda x: value)
    with pytest.raises(error, match=re.escape(words)):
        op(tensor())


# -- routes ----------------------------------------------------------------------------------------


def test_the_cache_of_routes_is_bounded(
    lib: Library, tensor: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dovetail_dispatcher.calls import routes

    monkeypatch.setattr(routes, "MAX_ROUTES", 4)
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x)
    for dtype in ("float32", "float64", "int8", "int16", "int32", "int64", "bool", "uint8"):
        x = tensor([1, 0], dtype)
        assert op(x) is x
        assert len(op._operator.routes) <= 4


def test_a_list_of_tensors_gives_its_keys(lib: Library, tensor: Tensors) -> None:
    lib.define("f(Tensor[] xs) -> str")
    lib.impl("f", lambda xs: "cpu", "CPU")
    lib.impl("f", lambda xs: "meta", "Meta")
    assert ops.cc.f([tensor()]) == "cpu"
    assert ops.cc.f((tensor(), tensor(device="meta"))) == "meta"


def test_optional_tensors_give_their_keys(lib: Library, tensor: Tensors) -> None:
    lib.define("f(Tensor? x, Tensor?[] ys) -> str")
    lib.impl("f", lambda x, ys: "meta", "Meta")
    assert ops.cc.f(None, [None, tensor(device="meta")]) == "meta"
    assert ops.cc.f(tensor(device="meta"), []) == "meta"


@pytest.mark.parametrize(
    ("args", "kwargs", "seen"),
    [
        ((), {}, "a=10 b=20 c=30"),
        ((1, 7), {"c": 3}, "a=1 b=7 c=30"),
        ((5, 2), {"c": 9}, "a=5 b=20 c=9"),
    ],
)
def test_arguments_equal_to_their_default_are_stripped_and_the_kernels_own_defaults_win(
    args: tuple[int, ...], kwargs: dict[str, int], seen: str, library: Libraries, tensor: Tensors
) -> None:
    # Trap 1.
    lib = library("trap", "DEF")
    lib.define("f(Tensor x, int a=1, int b=2, *, int c=3) -> str")
    lib.impl("f", lambda x, a=10, b=20, *, c=30: f"a={a} b={b} c={c}", "CPU")
    assert ops.trap.f(tensor(), *args, **kwargs) == seen
