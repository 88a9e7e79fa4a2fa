"""`custom_op`: operators made of functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import (
    CustomOpDef,
    Library,
    Tag,
    custom_op,
    dispatch_table,
    ops,
    register_autograd,
    transaction,
)
from dovetail_dispatcher._C import (
    _dispatch_dump,
    _dispatch_get_all_op_names,
    _dispatch_tls_is_dispatch_key_excluded,
)
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import PythonFormula
from dovetail_kernel import Device, TensorBase, backend, wrap
from dovetail_kernel.signature import GRAD

Tensor = TensorBase
Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


def new(array: Any) -> TensorBase:
    return wrap(np.asarray(array), backend("cpu"))


def like(x: Tensor, n: int = 2) -> Tensor:
    return wrap(x.array, x._backend)


def like_one(x: Tensor) -> Tensor:
    return like(x)


def double(x: Tensor, n: int = 2) -> Tensor:
    return new(x.array * n)


# -- definition ------------------------------------------------------------------------------------


def test_a_function_becomes_an_operator(make: Callable[..., CustomOpDef], tensor: Tensors) -> None:
    op = make(double)
    x = tensor([1.0, 2.0])
    assert [op(x).array.tolist(), op(x, 3).array.tolist(), op(x, n=4).array.tolist()] == [
        [2, 4],
        [3, 6],
        [4, 8],
    ]
    assert ops.cust.f(x).array.tolist() == [2, 4]


def test_it_prints_its_name_and_has_its_overload_and_tag(make: Callable[..., CustomOpDef]) -> None:
    op = make(double, tags=Tag.pointwise)
    assert isinstance(op, CustomOpDef)
    assert repr(op) == "<CustomOpDef(cust::f)>"
    assert op._opoverload is ops.cust.f.default
    assert op._opoverload.tags == [Tag.pt2_compliant_tag, Tag.pointwise]
    assert str(op._opoverload._schema) == "cust::f(Tensor x, SymInt n=2) -> Tensor"


def test_the_decorator_form_gives_the_same() -> None:
    @custom_op("cust::g", mutates_args=())
    def g(x: Tensor) -> Tensor:
        return new(x.array)

    assert isinstance(g, CustomOpDef)
    g._lib._destroy()


def test_defining_it_again_from_the_same_function_destroys_the_first(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    first = make(double)
    second = make(double, schema="(Tensor x) -> Tensor")
    assert second(tensor([1.0])).array.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="cust::f is not defined any more"):
        first(tensor([1.0]))


def keyword_tensor(x: Tensor, *, y: Tensor) -> Tensor:
    return x


def unannotated(x):  # type: ignore[no-untyped-def]
    return x


@pytest.mark.parametrize(
    ("name", "fn", "kwargs", "error", "words"),
    [
        ("noname", double, {}, ValueError, "not enough values to unpack"),
        ("cust::f", unannotated, {}, ValueError, "Parameter x must have a type annotation"),
        (
            "cust::f",
            keyword_tensor,
            {},
            NotImplementedError,
            "custom_op with kwarg-only Tensor args",
        ),
        ("cust::f", 3, {}, TypeError, "required to be a callable"),
        (
            "cust::f",
            double,
            {"mutates_args": ("zz",)},
            ValueError,
            "{'zz'} in mutates_args were not found",
        ),
        (
            "cust::f",
            double,
            {"schema": "(Tensor(a!) x) -> ()"},
            ValueError,
            "The schema suggests that the op mutates {'x'}",
        ),
        (
            "cust::f",
            double,
            {"schema": "(Tensr x) -> Tensor"},
            RuntimeError,
            "unknown type specifier",
        ),
        ("cust::f", double, {"device_types": "foo"}, RuntimeError, "Expected one of cpu, cuda"),
        ("cust::f", double, {"tags": "pointwise"}, TypeError, "tags must be Tag"),
    ],
)
def test_a_wrong_custom_op_is_refused_and_leaves_no_trace(
    name: str, fn: Any, kwargs: dict[str, Any], error: type[Exception], words: str
) -> None:
    before = _dispatch_get_all_op_names()
    with pytest.raises(error, match=re.escape(words)):
        custom_op(name, fn, **{"mutates_args": (), **kwargs})
    assert _dispatch_get_all_op_names() == before


def test_mutates_args_has_to_be_given() -> None:
    with pytest.raises(TypeError, match="mutates_args"):
        custom_op("cust::f", double)  # type: ignore[call-overload]


def test_an_operator_of_a_library_is_not_replaced(library: Libraries) -> None:
    library("cust", "DEF").define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Tried to register an operator"):
        custom_op("cust::f", double, mutates_args=())
    assert "CompositeExplicitAutograd" not in _dispatch_dump("cust::f")


def test_a_call_that_does_not_fit_is_refused(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(double)
    for call, words in (
        (op, "cust::f() is missing value for argument 'x'"),
        (lambda: op(1), "instead found type 'int'"),
        (lambda: op(tensor(), 1, 2), "expected at most 2 argument(s) but received 3"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(words)):
            call()


# -- aliases and writes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "fn"),
    [
        ("(Tensor x) -> Tensor", lambda x: x),
        ("(Tensor x) -> (Tensor, Tensor)", lambda x: (y := new(x.array + 1), y)),
        ("(Tensor x) -> Tensor[]", lambda x: [new(x.array + 1), x]),
        ("(Tensor[] x) -> Tensor", lambda x: x[0]),
        ("(Tensor? x) -> Tensor", lambda x: x),
    ],
)
def test_a_result_that_aliases_is_refused_at_every_call(
    schema: str, fn: Callable[..., Any], make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(fn, schema=schema)
    x = tensor([1.0])
    for _ in range(2):
        with pytest.raises(
            RuntimeError,
            match=r"f \(with implementation in .*\): The output of this custom operator \(1\)",
        ):
            op([x] if "[] x" in schema else x)


def test_a_view_of_an_argument_is_refused(
    make: Callable[..., CustomOpDef], library: Libraries, tensor: Tensors
) -> None:
    lib = library("cv", "DEF")
    lib.define("t(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("t", np.transpose, "CPU")
    op = make(ops.cv.t, schema="(Tensor x) -> Tensor")
    with pytest.raises(
        RuntimeError, match=r"\(2\) may not alias any inputs to this custom operator"
    ):
        op(tensor([1.0]))


def test_an_operator_declared_as_a_view_may_alias(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: x, schema="(Tensor(a) x) -> Tensor(a)")
    x = tensor([1.0])
    assert op(x) is x


def test_each_call_counts_a_write_to_the_declared_arguments(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    def write(x: Tensor, y: Tensor) -> None:
        x.array += y.array

    op = make(write, mutates_args=("x",))
    x, y = tensor([1.0]), tensor([2.0])
    op(x, y)
    op(x, y)
    assert (x.array.tolist(), x._version, y._version) == ([5.0], 2, 0)


def test_writes_to_lists_and_optional_tensors_are_counted(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(
        lambda xs, y: None,
        mutates_args=("xs", "y"),
        schema="(Tensor(a!)[] xs, Tensor(b!)? y) -> ()",
    )
    x, y = tensor([1.0]), tensor([2.0])
    op([x, x], y)
    op([x], None)
    assert (x._version, y._version) == (3, 1)


def test_the_write_is_counted_before_the_kernel_runs(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    seen = []
    op = make(lambda x: seen.append(x._version), mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    op(tensor())
    assert seen == [1]


def test_what_returns_nothing_runs_below_autograd_where_a_graph_would_be_recorded(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    seen = []

    def write(x: Tensor) -> None:
        seen.append(_dispatch_tls_is_dispatch_key_excluded("AutogradCPU"))

    op = make(write, mutates_args=("x",))
    x = tensor([1.0])
    op(x)
    x._signature |= GRAD
    op(x)
    assert seen == [False, True]
    assert not _dispatch_tls_is_dispatch_key_excluded("AutogradCPU")


def test_a_custom_op_may_not_return_its_argument_and_an_undeclared_write_goes_unnoticed(
    tensor: Tensors,
) -> None:
    # Trap 9.
    def fn(x: Tensor, mode: int) -> Tensor:
        if mode:
            return x
        x.array += 1
        return wrap(x.array.copy(), backend("cpu"))

    op = custom_op("trap9::c", fn, mutates_args=(), schema="(Tensor x, int mode) -> Tensor")
    x = tensor([1.0, 1.0])
    op(x, 0)
    assert x.array.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"must not also be an input to this custom operator"):
        op(x, 1)
    op._lib._destroy()


# -- kernels ---------------------------------------------------------------------------------------


def test_a_device_kernel_stands_over_the_default_and_can_be_replaced_and_switched_off(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(double)
    x = tensor([1.0])
    op.register_kernel("cpu")(lambda x, n=2: new(x.array * 100))
    assert op(x).array.tolist() == [100.0]
    op.register_kernel(["cpu", "cuda"], lambda x, n=2: new(x.array * 200))
    assert op(x).array.tolist() == [200.0]
    with op.set_kernel_enabled("cpu", enabled=False):
        assert op(x).array.tolist() == [2.0]
    assert op(x).array.tolist() == [200.0]


def test_switching_a_kernel_that_is_not_there_warns(make: Callable[..., CustomOpDef]) -> None:
    op = make(double)
    with (
        pytest.warns(
            UserWarning, match="Attempted to disable kernel for xpu but no kernel was registered"
        ),
        op.set_kernel_enabled("xpu", enabled=False),
    ):
        pass


def test_device_types_restrict_the_function(make: Callable[..., CustomOpDef]) -> None:
    make(double, device_types="cpu")
    table = dispatch_table("cust::f")
    assert (table["CPU"].tag, table["CUDA"].tag) == ("kernel", "missing")


def test_without_tensors_the_device_argument_chooses(make: Callable[..., CustomOpDef]) -> None:
    op = make(lambda n, device: n, schema="(int n, Device device) -> int", device_types="cpu")
    assert op(3, "cpu") == 3
    with pytest.raises(
        RuntimeError,
        match=r"f does not have a kernel registered for cuda. Please use register_kernel",
    ):
        op(3, "cuda")


def test_without_tensors_and_device_only_the_default_kernel_is_possible(
    make: Callable[..., CustomOpDef],
) -> None:
    assert make(lambda n: n, schema="(int n) -> int")(3) == 3
    with pytest.raises(
        ValueError, match="Functions without tensor inputs are required to have a `device"
    ):
        make(lambda n: n, schema="(int n) -> int", device_types="cpu")


def test_meta_tensors_need_a_fake(make: Callable[..., CustomOpDef], tensor: Tensors) -> None:
    op = make(double)
    x = tensor([1.0], device="meta")
    with pytest.raises(
        RuntimeError,
        match=re.escape("There was no fake impl registered for <CustomOpDef(cust::f)>"),
    ):
        op(x)
    op.register_fake(like)
    assert op(x).is_meta


def test_an_operator_that_returns_nothing_needs_no_fake(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    assert op(tensor(device="meta")) is None


def test_an_in_place_operator_returns_its_argument_in_its_fake(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    schema = "(Tensor(a!) x) -> Tensor(a!)"
    op = make(lambda x: x, mutates_args=("x",), schema=schema, tags=Tag.inplace)
    x = tensor(device="meta")
    assert op(x) is x


def test_an_operator_without_the_tag_may_not_return_what_it_writes(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: x, mutates_args=("x",), schema="(Tensor(a!) x) -> Tensor(a!)")
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        op(tensor())
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        op(tensor(device="meta"))


def test_a_kernel_that_is_registered_anew_stays_beneath_those_that_cover_it(
    make: Callable[..., CustomOpDef], library: Libraries, tensor: Tensors
) -> None:
    op = make(like_one, schema="(Tensor x) -> Tensor", device_types="cpu")
    marked = tensor([7.0])
    library("cust", "FRAGMENT").impl("f", lambda x: marked, "CPU")
    op.register_kernel("cpu", like_one)
    assert op(tensor()) is marked


def test_a_derivative_that_is_registered_anew_stays_beneath_the_kernel_at_autograd_that_covers_it(
    make: Callable[..., CustomOpDef], library: Libraries, tensor: Tensors
) -> None:
    op = make(like_one, schema="(Tensor x) -> Tensor")
    marked = tensor([7.0])
    covering = library("cust", "FRAGMENT")
    covering.impl("f", lambda x: marked, "Autograd")
    op.register_autograd(lambda ctx, grad: grad)
    assert op(tensor()) is marked
    covering._destroy()
    assert op(tensor()) is not marked


def test_the_version_of_an_undefined_tensor_is_not_counted(
    make: Callable[..., CustomOpDef],
) -> None:
    op = make(lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    assert op(None) is None


def test_a_composite_of_another_library_refuses_the_fake_of_a_custom_operator(
    make: Callable[..., CustomOpDef], library: Libraries
) -> None:
    library("cust", "FRAGMENT").impl("f", lambda x: x, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="should not register a meta kernel directly"):
        make(like_one, schema="(Tensor x) -> Tensor")


# -- derivatives -----------------------------------------------------------------------------------


def test_the_derivative_is_a_record_in_the_table_and_can_be_replaced(
    make: Callable[..., CustomOpDef],
) -> None:
    op = make(double)
    operator = op._operator
    with pytest.raises(
        RuntimeError,
        match=r"Trying to backward through cust.f.default but no autograd formula was regis",
    ):
        operator.formula.backward(None, None)  # type: ignore[union-attr]

    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None

    op.register_autograd(backward)
    assert isinstance(operator.formula, PythonFormula)
    assert operator.formula.backward is backward
    assert operator.formula.name == "GeneratedBackwardFor_cust_f_default"
    assert dispatch_table("cust::f")["AutogradCPU"].tag == "autograd kernel"


@pytest.mark.parametrize("form", ["method", "name", "overload", "operator"])
def test_a_derivative_needs_a_functional_operator(
    form: str, make: Callable[..., CustomOpDef]
) -> None:
    op = make(lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    target = {"name": "cust::f", "overload": ops.cust.f.default, "operator": op}.get(form)
    with pytest.raises(
        RuntimeError, match="Cannot register autograd formula for non-functional operator"
    ):
        op.register_autograd(lambda ctx: None) if target is None else register_autograd(
            target, lambda ctx: None
        )


# -- tags that promise something of the result -----------------------------------------------------


def test_an_operator_tagged_inplace_returns_its_first_argument(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    x = tensor()
    form = {"schema": "(Tensor(a!) x) -> Tensor(a!)", "mutates_args": ("x",), "tags": Tag.inplace}
    assert make(lambda x: x, **form)(x) is x
    with pytest.raises(
        RuntimeError, match=r"tagged with torch\.Tag\.inplace must return its first argument"
    ):
        make(like, "cust::g", **form)(x)


def test_an_operator_tagged_out_returns_its_out_arguments(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    x, a, b = tensor(), tensor(), tensor()
    form = {
        "schema": "(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
        "mutates_args": ("a", "b"),
        "tags": Tag.out,
    }
    assert make(lambda x, a, b: (a, b), **form)(x, a=a, b=b) == (a, b)
    with pytest.raises(
        RuntimeError, match=r"torch\.Tag\.out must return its mutable keyword-only arguments"
    ):
        make(lambda x, a, b: (b, a), "cust::g", **form)(x, a=a, b=b)


def test_what_a_failed_transaction_took_back_can_be_registered_again(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: 0, schema="(Tensor x) -> int")
    with pytest.raises(KeyError), transaction():
        op.register_kernel("cpu", lambda x: 1)
        op.register_vmap(lambda info, in_dims, x: (1, None))
        raise KeyError
    assert op(tensor()) == 0
    op.register_kernel("cpu", lambda x: 2)
    op.register_vmap(lambda info, in_dims, x: (2, None))
    rule = registry.find_or_throw("cust::f").batching_rule
    assert op(tensor()) == 2
    assert rule is not None
    assert rule.function(None, (0,), None) == (2, None)


# -- devices ---------------------------------------------------------------------------------------


def test_without_tensors_and_device_given_the_default_device_chooses(
    make: Callable[..., CustomOpDef],
) -> None:
    op = make(
        lambda n, device=None: 1, schema="(int n, Device? device=None) -> int", device_types="cpu"
    )
    op.register_kernel("meta", lambda n, device=None: 2)
    assert (op(1), op(1, "meta"), op(1, device="cpu")) == (1, 2, 1)
    with Device("meta"):
        assert (op(1), op(1, "cpu")) == (2, 1)


def test_each_device_keeps_its_own_switch(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: 0, schema="(Tensor x) -> int")
    op.register_kernel("cpu", lambda x: 1)
    op.register_kernel("meta", lambda x: 2)

    def both() -> tuple[int, int]:
        return op(tensor()), op(tensor(device="meta"))

    with op.set_kernel_enabled("cpu", enabled=False):
        assert both() == (0, 2)
        with (
            op.set_kernel_enabled("meta", enabled=False),
            op.set_kernel_enabled("cpu", enabled=True),
        ):
            assert both() == (1, 0)
        assert both() == (0, 2)
    with pytest.raises(KeyError), op.set_kernel_enabled("meta", enabled=False):
        raise KeyError
    assert both() == (1, 2)
