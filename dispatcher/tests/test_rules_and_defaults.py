"""Defaults of kernels, rules of `vmap`, and words for errors of array libraries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import CustomOpDef, Library, ops, register_vmap
from dovetail_dispatcher.calls.array_errors import broadcast_shape, call_error
from dovetail_dispatcher.inspection.argument_keys import describe_arguments, describe_value
from dovetail_dispatcher.record import Record
from dovetail_dispatcher.registration import batching_rules, load_batching_rules
from dovetail_dispatcher.sockets import BATCHING_RULES
from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase, backend, wrap

Tensors = Callable[..., TensorBase]


# -- defaults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "given", "own"),
    [
        (lambda x, n, *, e: (n, e), (2, 0.5), "all arguments are given"),
        (lambda x, n=2, *, e=0.5: (n, e), (2, 0.5), "equal defaults"),
        (lambda x, n=7, *, e=0.5: (n, e), (7, 0.5), "its own default of n"),
        (lambda x, n=2, *, e=9.0: (n, e), (2, 9.0), "its own default of e"),
        (lambda x, n=7, **others: (n, others.get("e")), (7, None), "the rest by keyword"),
        (lambda x, *rest, e=9.0: (rest, e), ((), 9.0), "the rest by position"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_kernel_gets_what_differs_from_the_schema_and_keeps_its_own_defaults(
    library: Callable[..., Library], tensor: Tensors, kernel: Any, given: Any, own: str
) -> None:
    seen: list[Any] = []

    def noted(result: Any, x: TensorBase) -> TensorBase:
        seen.append(result)
        return x

    @functools.wraps(kernel)
    def called(x: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
        return noted(kernel(x, *args, **kwargs), x)

    lib = library("rd", "DEF")
    lib.define("f(Tensor x, int n=2, *, float e=0.5) -> Tensor")
    lib.impl("f", called, "CPU")
    x = tensor([1.0])
    ops.rd.f(x)
    assert seen == [given], own
    ops.rd.f(x, 3, e=0.25)
    assert seen[1] in ((3, 0.25), ((3,), 0.25))


# -- rules of vmap ---------------------------------------------------------------------------------


def test_a_rule_of_vmap_is_registered_for_an_operator_or_a_custom_one(
    library: Callable[..., Library], make: Callable[..., CustomOpDef]
) -> None:
    lib = library("rv", "DEF")
    lib.define("f(Tensor x, int n=1, *, int k) -> Tensor")

    def rule(info: Any, in_dims: Any, x: Any, *, k: int) -> Any:
        return x, 0

    register_vmap("rv::f", rule, lib=lib)
    assert registry.find("rv::f", "").batching_rule.function is rule  # type: ignore[union-attr]

    def function(x: TensorBase) -> TensorBase:
        return x

    op = make(function)

    @op.register_vmap()
    def own(info: Any, in_dims: Any, x: Any) -> Any:
        return x, 0

    @register_vmap("rv::f", lib=None)
    def another(info: Any, in_dims: Any, x: Any, *, k: int) -> Any:
        return x, 0

    assert own.__name__ == "own" and another.__name__ == "another"
    assert op._operator.batching_rule.function is own


@pytest.mark.parametrize(
    ("schema", "rule", "error", "message"),
    [
        ("f(Tensor x) -> Tensor", 3, TypeError, "expected a function, but got int"),
        ("f(Tensor x) -> Tensor", lambda x: x, TypeError, r"\(info, in_dims, x\), but .* takes"),
        (
            "f(Tensor x, *, int k) -> Tensor",
            lambda info, in_dims, x: x,
            TypeError,
            r"in_dims, x, k=k\)",
        ),
        (
            "f(Tensor x, *, Tensor y) -> Tensor",
            lambda *args, **kwargs: args,
            NotImplementedError,
            "kwarg-only Tensor args",
        ),
    ],
)
def test_a_rule_that_cannot_be_called_is_refused(
    library: Callable[..., Library], schema: str, rule: Any, error: Any, message: str
) -> None:
    lib = library("rv", "DEF")
    lib.define(schema)
    with pytest.raises(error, match=message):
        register_vmap("rv::f", rule, lib=lib)


def test_a_composite_has_no_rule(library: Callable[..., Library]) -> None:
    lib = library("rv", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="has a CompositeImplicitAutograd kernel, so vmap"):
        register_vmap("rv::f", lambda info, in_dims, x: (x, 0), lib=lib)


def test_rules_of_libraries_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(
        BATCHING_RULES, "plugs", (lambda: loaded.append("one"), lambda: loaded.append("two"))
    )
    monkeypatch.setattr(batching_rules, "_loaded", 0)
    load_batching_rules()
    load_batching_rules()
    assert loaded == ["one", "two"]


# -- errors of array libraries ---------------------------------------------------------------------


@pytest.fixture
def op(library: Callable[..., Library]) -> Any:
    """An operator that writes its first operand."""
    library("re", "DEF").define("and_(Tensor(a!) x, Tensor? y) -> Tensor(a!)")
    return ops.re.and_.default._operator


def test_shapes_that_do_not_broadcast_come_first(op: Any, tensor: Tensors) -> None:
    error = call_error(op, ValueError("whatever"), tensor([1.0, 2.0]), None, tensor([1.0] * 3))
    assert str(error).startswith("The size of tensor a (2) must match the size of tensor b (3)")


def test_dtypes_that_a_library_refuses_are_named(op: Any, tensor: Tensors) -> None:
    error = call_error(op, TypeError("not supported for the input types"), tensor([1.0]))
    assert isinstance(error, NotImplementedError)
    assert "\"and\" not implemented for 'Float'" in str(error)
    mistake = TypeError("f() takes 2 positional arguments but 3 were given")
    assert call_error(op, mistake, tensor([1.0])) is mistake


def test_an_operand_that_is_smaller_than_the_result_is_named(op: Any, tensor: Tensors) -> None:
    error = call_error(
        op, ValueError("non-broadcastable output operand"), tensor([1.0]), tensor([1.0, 2.0])
    )
    assert "output with shape [1] doesn't match the broadcast shape [2]" in str(error)
    same = ValueError("could not broadcast")
    assert call_error(op, same, tensor([1.0])) is same and call_error(op, same) is same


def test_read_only_memory_is_left_before_the_kernel_is_called_again(op: Any) -> None:
    fixed = np.zeros(2, "float32")
    fixed.flags.writeable = False
    x, error = wrap(fixed, backend("cpu")), ValueError("output array is read-only")
    assert call_error(op, error, x) is error  # it writes nothing
    assert call_error(op, error, x, writes=True) is None and x.array.flags.writeable
    shared = wrap(np.broadcast_to(np.zeros(1, "float32"), (2,)), backend("cpu"))
    refused = call_error(op, error, shared, writes=True)
    assert "more than one element of the written-to tensor" in str(refused)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [([(2, 1), (3,)], (2, 3)), ([(), (0,)], (0,)), ([(2,), (3,)], None), ([(4, 1), (1,)], (4, 1))],
)
def test_shapes_broadcast(shapes: Any, expected: Any) -> None:
    assert broadcast_shape(shapes) == expected


# -- descriptions ----------------------------------------------------------------------------------


def test_arguments_are_described_with_their_keys(
    library: Callable[..., Library], tensor: Tensors
) -> None:
    library("ra", "DEF").define("f(Tensor x, int n, Tensor?[] ys, Tensor? z) -> Tensor")
    operator = ops.ra.f.default._operator
    x = tensor([[1.0]])
    described = describe_arguments(operator, [x, 3, [x, None], None])
    assert [(each.name, each.value) for each in described] == [
        ("x", "float32[1, 1] on cpu"),
        ("ys[0]", "float32[1, 1] on cpu"),
        ("ys[1]", "None (NoneType)"),
        ("z", "None (NoneType)"),
    ]
    assert "CPU" in described[0].keys and described[1].keys == described[0].keys
    assert described[2].keys == () and describe_value(3) == "3 (int)"


class Step(Record):
    """A record with a default."""

    name: str
    count: int = 1


def test_a_record_is_equal_by_its_fields_and_never_changes() -> None:
    step = Step("a")
    assert step == Step(name="a", count=1) != Step("a", 2) and step != "a"
    assert step.replaced(count=3) == Step("a", 3) and step.count == 1
    assert repr(step) == "Step(name='a')" and repr(Step("a", 2)) == "Step(name='a', count=2)"
    assert repr(Step(len, [(1,), {}])) == "Step(name=len, count=[(1,), <dict>])"
    with pytest.raises(AttributeError, match=r"Step.count cannot be set: .*replaced\(count="):
        step.count = 2
