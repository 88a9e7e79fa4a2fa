"""Schemas inferred from annotated Python functions."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence  # noqa: F401
from typing import Any, Optional, Union  # noqa: F401

import pytest

from dovetail_dispatcher.schema import infer_schema, parse_schema
from dovetail_kernel import Device, TensorBase, dtype, float32

List, Tuple = list, tuple
Number = int | float | bool


class Tensor(TensorBase):
    pass


class Tag(enum.Enum):
    inplace = 1
    out = 2


def function(signature: str) -> Callable[..., Any]:
    names = dict(globals())
    exec(f"def f{signature}: ...", names)
    made: Callable[..., Any] = names["f"]
    return made


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Tensor", "Tensor"),
        ("int", "SymInt"),
        ("float", "float"),
        ("bool", "bool"),
        ("str", "str"),
        ("Number", "Scalar"),
        ("int | float | bool", "Scalar"),
        ("dtype", "ScalarType"),
        ("Device", "Device"),
        ("Optional[Tensor]", "Tensor?"),
        ("int | None", "SymInt?"),
        ("Optional[Number]", "Scalar?"),
        ("List[Tensor]", "Tensor[]"),
        ("list[Tensor | None]", "Tensor?[]"),
        ("Sequence[Optional[Tensor]]", "Tensor?[]"),
        ("Sequence[int]", "SymInt[]"),
        ("list[Number]", "Scalar[]"),
        ("Optional[List[float]]", "float[]?"),
        ("'Tensor'", "Tensor"),
    ],
)
def test_a_parameter_type_is_inferred(annotation: str, expected: str) -> None:
    assert (
        infer_schema(function(f"(x: {annotation}) -> None"), mutates_args=())
        == f"({expected} x) -> ()"
    )


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("None", "()"),
        ("Tensor", "Tensor"),
        ("int", "SymInt"),
        ("List[Tensor]", "Tensor[]"),
        ("Number", "Scalar"),
        ("Tuple[Tensor, int]", "(Tensor, SymInt)"),
        ("tuple[Tensor]", "((Tensor))"),
        ("tuple[list[Tensor], float]", "(Tensor[], float)"),
    ],
)
def test_a_return_type_is_inferred(annotation: str, expected: str) -> None:
    assert (
        infer_schema(function(f"(x: Tensor) -> {annotation}"), mutates_args=())
        == f"(Tensor x) -> {expected}"
    )


def test_defaults_and_keyword_only_parameters_are_kept() -> None:
    def prototype(
        x: Tensor, n: int = -1, *, p: float = 0.5, mode: str = "sum",
        d: dtype | None = float32, at: Device = Device("cpu")  # noqa: B008
    ) -> Tensor: ...  # fmt: skip

    schema = infer_schema(prototype, mutates_args=(), op_name="ns::f")
    assert schema == (
        'ns::f(Tensor x, SymInt n=-1, *, float p=0.5, str mode="sum", '
        'ScalarType? d=float32, Device at="cpu") -> Tensor'
    )
    assert parse_schema(schema).arguments[4].default_value == 6


def test_mutated_parameters_are_annotated() -> None:
    prototype = function("(x: Tensor, y: List[Tensor], z: Optional[Tensor]) -> None")
    assert (
        infer_schema(prototype, mutates_args=("y", "z"))
        == "(Tensor x, Tensor(a1!)[] y, Tensor(a2!)? z) -> ()"
    )


def test_unknown_mutation_is_assumed_for_every_tensor() -> None:
    prototype = function("(x: Tensor, n: int) -> None")
    assert infer_schema(prototype, mutates_args="unknown") == "(Tensor(a0!) x, SymInt n) -> ()"


def test_the_inplace_tag_aliases_the_return() -> None:
    schema = infer_schema(function("(x: Tensor) -> Tensor"), mutates_args=("x",), tags=Tag.inplace)
    assert schema == "(Tensor(a0!) x) -> Tensor(a0!)"


def test_the_out_tag_aliases_the_returns() -> None:
    prototype = function("(x: Tensor, *, y: Tensor, z: Tensor) -> Tuple[Tensor, Tensor]")
    schema = infer_schema(prototype, mutates_args=("y", "z"), tags=(Tag.out,))
    assert schema == "(Tensor x, *, Tensor(a1!) y, Tensor(a2!) z) -> (Tensor(a1!), Tensor(a2!))"


@pytest.mark.parametrize(
    ("signature", "options", "message"),
    [
        ("(x) -> None", {}, "Parameter x must have a type annotation."),
        (
            "(x: dict) -> None",
            {},
            "Parameter x has unsupported type <class 'dict'>. The valid types are: Tensor",
        ),
        ("(x: complex) -> None", {}, "The nearest is float."),
        (
            "(x: Tuple[int, int]) -> None",
            {},
            "We do not support Tuple inputs in schema. As a workaround, please",
        ),
        ("(x: Union[int, float]) -> None", {}, "has unsupported type"),
        ("(x: Optional[List[Tensor]]) -> None", {}, "has unsupported type"),
        ("(x: 'nosuch') -> None", {}, "Unsupported type annotation nosuch. It is not a type."),
        ("(x: int)", {}, "No return type annotation was provided. Please add one."),
        ("(x: int) -> str", {}, "Return has unsupported type"),
        ("(x: int) -> Optional[Tensor]", {}, "Return has unsupported type"),
        (
            "(x: int, /) -> None",
            {},
            "We do not support positional-only args, varargs, or varkwargs.",
        ),
        ("(*x: int) -> None", {}, "We do not support positional-only args, varargs, or varkwargs."),
        ("(x: list[int] = []) -> None", {}, "has an unsupported default value type <class 'list'>"),
        (
            "(x: Tensor) -> None",
            {"mutates_args": ("zz",)},
            "{'zz'} in mutates_args were not found in the custom op's",
        ),
        (
            "(x: int) -> None",
            {"mutates_args": ("x",)},
            "only Tensors or collections of Tensors can be mutated",
        ),
        ("(x: int) -> None", {"mutates_args": "x"}, "mutates_args must either be a sequence"),
        (
            "(x: Tensor) -> Tensor",
            {"tags": Tag.inplace},
            "contain exactly the first positional argument",
        ),
        (
            "(x: Tensor) -> None",
            {"tags": Tag.inplace, "mutates_args": ("x",)},
            "return annotation to be torch.Tensor",
        ),
        (
            "(x: Tensor) -> Tensor",
            {"tags": Tag.out, "mutates_args": ("x",)},
            "mutable arguments to be keyword-only",
        ),
        (
            "(x: Tensor) -> Tensor",
            {"tags": Tag.out},
            "at least one mutable keyword-only Tensor argument",
        ),
    ],
)
def test_what_cannot_be_inferred_is_refused(
    signature: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        infer_schema(function(signature), **{"mutates_args": (), **options})
    assert message in str(caught.value)
