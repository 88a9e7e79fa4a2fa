"""Array kernels: the route unwraps, calls, and wraps as the schema says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.calls.plan import RoutePlan
from dovetail_dispatcher.calls.plans.composition import Composition, call_keys, compose
from dovetail_dispatcher.calls.steps.arguments import PromoteOperands
from dovetail_dispatcher.calls.steps.array_results import CheckOwn, ExpectDtype
from dovetail_dispatcher.calls.steps.kernel_calls import CallKernel
from dovetail_dispatcher.calls.steps.results import WrapArray
from dovetail_dispatcher.sockets import PROMOTION, NoPromotion
from dovetail_dispatcher.table.registry import forget_all_routes
from dovetail_dispatcher.table.updates.changes import Change, open_transaction, take_back
from dovetail_dispatcher.table.updates.definitions import define_many
from dovetail_kernel import TensorBase, backend, dispatch_state
from dovetail_kernel.devices.lowering import CallSpec, PlanFacts

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Libraries) -> Library:
    return library("aa", "DEF")


@pytest.fixture
def pointwise(lib: Library) -> Iterator[Any]:
    """An addition with its in-place and ``out=`` variants, declared as the base library declares
    its operators: that also says how operands are promoted.
    """
    pytest.importorskip("dovetail_aten")
    undos: list[Change] = []
    open_transaction.set(undos)
    promote = ("self", "other")
    define_many(
        [
            (
                "aa::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                "pointwise",
                "same",
                promote,
                (),
                "",
                (),
                None,
                "aa.yaml",
                1,
            ),
            *[
                (f"aa::{text}", "pointwise", "same", promote, (), "", (), "aa::add", "aa.yaml", 1)
                for text in (
                    "add_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
                    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(b!) out) -> "
                    "Tensor(b!)",
                )
            ],
        ],
        "here",
    )
    open_transaction.set(None)
    lib.array_impl(
        "add", lambda x, y, *, alpha=1: x + alpha * y, "CPU", fast_path=np.add, out_function=np.add
    )
    yield ops.aa
    take_back(undos)


# -- results ---------------------------------------------------------------------------------------


def test_an_array_function_becomes_an_operator_on_tensors(lib: Library, tensor: Tensors) -> None:
    lib.define("exp(Tensor x) -> Tensor")
    lib.array_impl("exp", np.exp, "CPU")
    result = ops.aa.exp(tensor([0.0, 1.0]))
    assert isinstance(result, TensorBase)
    assert result.array.tolist() == pytest.approx([1.0, np.e])


def test_a_result_of_zero_dimensions_stays_an_array(lib: Library, tensor: Tensors) -> None:
    lib.define("exp(Tensor x) -> Tensor")
    lib.array_impl("exp", np.exp, "CPU")
    lib.define("sum(Tensor x) -> Tensor")
    lib.array_impl("sum", lambda x: x.sum(), "CPU")
    for result in (ops.aa.exp(tensor(0.0)), ops.aa.sum(tensor([1.0, 2.0]))):
        assert type(result.array) is np.ndarray
        assert result.array.shape == ()
        assert ops.aa.exp(result).array.shape == ()


def test_the_dtype_of_a_result_is_that_of_its_array(lib: Library, tensor: Tensors) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.array_impl("f", lambda x: x > 0, "CPU")
    assert repr(ops.aa.f(tensor([1.0])).dtype) == "dovetail.bool"


def test_several_results_come_back_as_a_tuple(lib: Library, tensor: Tensors) -> None:
    lib.define("f(Tensor x) -> (Tensor values, Tensor indices)")
    lib.array_impl("f", lambda x: (np.sort(x), np.argsort(x)), "CPU")
    values, indices = ops.aa.f(tensor([2.0, 1.0]))
    assert (values.array.tolist(), indices.array.tolist()) == ([1.0, 2.0], [1, 0])


def test_a_list_result_is_a_list_of_tensors(lib: Library, tensor: Tensors) -> None:
    lib.define("f(Tensor[] xs) -> Tensor[]")
    lib.array_impl("f", lambda xs: [x + 1 for x in xs], "CPU")
    assert [t.array.tolist() for t in ops.aa.f([tensor([1.0]), tensor([2.0])])] == [[2.0], [3.0]]


def test_other_arguments_reach_the_kernel_and_optional_tensors_may_be_None(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("f(Tensor x, Tensor? y=None, *, int n=2) -> Tensor")
    lib.array_impl("f", lambda x, y=None, *, n=2: x * n if y is None else x * n + y, "CPU")
    x = tensor([1.0])
    assert ops.aa.f(x).array.tolist() == [2.0]
    assert ops.aa.f(x, x, n=5).array.tolist() == [6.0]


def test_a_dtype_reaches_the_kernel_as_the_backends_own(lib: Library, tensor: Tensors) -> None:
    lib.define("to(Tensor x, *, ScalarType dtype) -> Tensor")
    lib.array_impl("to", lambda x, *, dtype: x.astype(dtype), "CPU")
    x = tensor([1.0])
    assert ops.aa.to(x, dtype=tensor([1], "int16").dtype).array.dtype == np.int16


def test_the_plain_function_is_used_only_when_everything_else_has_its_default(
    pointwise: Any, tensor: Tensors
) -> None:
    x, y = tensor([1.0]), tensor([2.0])
    assert pointwise.add(x, y).array.tolist() == [3.0]
    assert pointwise.add(x, y, alpha=10).array.tolist() == [21.0]


# -- promotion -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        (([1.0], "float32"), ([1.0], "float64"), "float64"),
        (([1], "int32"), ([1.0], "float32"), "float32"),
        (([1.0], "float32"), (1.0, "float64"), "float32"),
        ((1, "int64"), ([1], "int8"), "int8"),
        (([True], "bool"), ([1], "uint8"), "uint8"),
    ],
)
def test_operands_are_promoted(
    left: tuple[Any, str], right: tuple[Any, str], dtype: str, pointwise: Any, tensor: Tensors
) -> None:
    result = pointwise.add(tensor(*left), tensor(*right))
    assert result.array.dtype == dtype
    assert result.dtype is tensor([1], dtype).dtype


def test_without_a_base_library_operands_of_several_dtypes_are_refused(
    pointwise: Any, tensor: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(PROMOTION, "plug", NoPromotion())
        forget_all_routes()
        assert pointwise.add(tensor([1.0]), tensor([2.0])).array.tolist() == [3.0]
        with pytest.raises(RuntimeError, match=re.escape("aa::add promotes its operands")):
            pointwise.add(tensor([1.0]), tensor([1], "int64"))
    forget_all_routes()
    assert pointwise.add(tensor([1.0]), tensor([1], "int64")).array.tolist() == [2.0]


def test_shapes_that_do_not_broadcast_are_refused_in_pytorchs_words(
    pointwise: Any, tensor: Tensors
) -> None:
    with pytest.raises(
        RuntimeError,
        match=re.escape("The size of tensor a (2) must match the size of tensor b (3)"),
    ):
        pointwise.add(tensor([1.0, 2.0]), tensor([1.0, 2.0, 3.0]))


# -- in place --------------------------------------------------------------------------------------


def test_an_in_place_variant_writes_counts_and_returns_its_argument(
    pointwise: Any, tensor: Tensors
) -> None:
    x = tensor([1.0, 2.0])
    array = x.array
    assert pointwise.add_(x, tensor([1.0, 1.0])) is x
    assert pointwise.add_(x, tensor([1.0, 1.0]), alpha=2) is x
    assert x.array is array
    assert (array.tolist(), x._version) == ([4.0, 5.0], 2)


def test_an_in_place_result_keeps_the_dtype_of_its_destination(
    pointwise: Any, tensor: Tensors
) -> None:
    x = tensor([1.0], "float32")
    pointwise.add_(x, tensor([1.0], "float64"))
    assert x.array.dtype == np.float32


@pytest.mark.parametrize(
    ("destination", "other", "words"),
    [
        (
            ([1], "int32"),
            ([1.5], "float32"),
            "result type Float can't be cast to the desired output type Int",
        ),
        (
            ([1.0], "float32"),
            ([1.0, 2.0], "float32"),
            "output with shape [1] doesn't match the broadcast shape [2]",
        ),
    ],
)
def test_an_impossible_write_changes_nothing(
    destination: Any, other: Any, words: str, pointwise: Any, tensor: Tensors
) -> None:
    x = tensor(*destination)
    before = x.array.copy()
    with pytest.raises(RuntimeError, match=re.escape(words)):
        pointwise.add_(x, tensor(*other))
    assert (x.array == before).all()
    assert x._version == 0


def test_writing_where_elements_share_memory_is_refused(
    lib: Library, pointwise: Any, tensor: Tensors
) -> None:
    lib.define("expand(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("expand", lambda x: np.broadcast_to(x, (3,)), "CPU")
    x = ops.aa.expand(tensor([1.0]))
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory",
    ):
        pointwise.add_(x, x)


def test_writing_to_what_another_argument_partly_covers_is_refused(
    lib: Library, pointwise: Any, tensor: Tensors
) -> None:
    lib.define("tail(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("tail", lambda x: x[1:], "CPU")
    lib.define("head(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("head", lambda x: x[:-1], "CPU")
    x = tensor([1.0, 2.0, 3.0])
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single",
    ):
        pointwise.add_(ops.aa.head(x), ops.aa.tail(x))


# -- out= ------------------------------------------------------------------------------------------


def test_out_is_written_and_returned(pointwise: Any, tensor: Tensors) -> None:
    out = tensor([0.0])
    assert pointwise.add.out(tensor([1.0]), tensor([2.0]), out=out) is out
    assert (out.array.tolist(), out._version) == ([3.0], 1)


def test_an_empty_out_takes_the_shape_of_the_result(pointwise: Any, tensor: Tensors) -> None:
    out = tensor(np.zeros(0, "float32"))
    pointwise.add.out(tensor([1.0, 2.0]), tensor([2.0]), out=out)
    assert out.array.tolist() == [3.0, 4.0]


def test_a_full_out_of_another_shape_is_resized_with_a_warning(
    pointwise: Any, tensor: Tensors
) -> None:
    out = tensor([0.0])
    with pytest.warns(
        UserWarning, match="An output with one or more elements was resized"
    ) as warned:
        pointwise.add.out(tensor([1.0, 2.0]), tensor([2.0]), out=out)
    assert warned[0].filename == __file__
    assert out.array.tolist() == [3.0, 4.0]


def test_an_out_of_too_low_a_category_is_refused(pointwise: Any, tensor: Tensors) -> None:
    out = tensor([0], "int64")
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        pointwise.add.out(tensor([1.0]), tensor([2.0]), out=out)
    assert (out.array.tolist(), out._version) == ([0], 0)


# -- views -----------------------------------------------------------------------------------------


def test_a_view_shares_storage_and_version_with_its_base(
    lib: Library, pointwise: Any, tensor: Tensors
) -> None:
    lib.define("t(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("t", np.transpose, "CPU")
    x = tensor([[1.0, 2.0]])
    view = ops.aa.t(x)
    assert view.untyped_storage() is x.untyped_storage()
    pointwise.add_(view, tensor(1.0))
    assert (x.array.tolist(), x._version, view._version) == ([[2.0, 3.0]], 1, 1)


def test_a_view_of_a_view_has_the_same_storage(lib: Library, tensor: Tensors) -> None:
    lib.define("t(Tensor(a) x) -> Tensor(a)")
    lib.array_impl("t", np.transpose, "CPU")
    x = tensor([[1.0, 2.0]])
    assert ops.aa.t(ops.aa.t(x)).untyped_storage() is x.untyped_storage()


# -- routes ----------------------------------------------------------------------------------------


def test_the_plan_of_a_call_says_what_is_done(pointwise: Any, tensor: Tensors) -> None:
    def plan_of(*tensors: Any) -> RoutePlan:
        op, now = pointwise.add.default._operator, dispatch_state()
        key = tensors[0]._signature | tensors[1]._signature
        return compose(Composition(op, call_keys(key, now), key, now))

    x, y = tensor([1.0]), tensor([1], "int64")
    assert [type(step) for step in plan_of(x, x).steps] == [
        CallKernel,
        CheckOwn,
        ExpectDtype,
        WrapArray,
    ]
    mixed = plan_of(x, y)
    assert [type(step) for step in mixed.steps] == [
        PromoteOperands,
        CallKernel,
        CheckOwn,
        WrapArray,
    ]
    assert mixed.results == (mixed.each(WrapArray)[0].result,)
    assert not mixed.calls_operators


def test_the_route_of_equal_dtypes_neither_promotes_nor_looks_dtypes_up(
    pointwise: Any, tensor: Tensors
) -> None:
    from dovetail_dispatcher import explain

    text = explain(pointwise.add, tensor([1.0]), tensor([2.0])).route
    assert re.search(r"if alpha == 1:\n +array = .*fast_path.*\(self.array, other.array\)\n", text)
    assert "promote" not in text
    assert "dtype_bits" not in text


def test_a_plan_asks_the_backend_once_how_its_kernel_is_called(
    pointwise: Any, tensor: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], PlanFacts]] = []

    def lower(kernel: Mapping[str, Any], facts: PlanFacts) -> dict[str, CallSpec]:
        asked.append((list(kernel), facts))
        return {
            role: CallSpec(lambda *args, f=function, **kwargs: f(*args, **kwargs) + 10)
            for role, function in kernel.items()
        }

    x = tensor([1.0])
    with monkeypatch.context() as patch:
        patch.setattr(backend("cpu").arrays, "lower", lower, raising=False)
        forget_all_routes()
        assert pointwise.add(x, x).array.tolist() == [12.0]
        assert pointwise.add(x, x, alpha=2).array.tolist() == [13.0]
    assert asked == [(["kernel", "fast_path"], PlanFacts(joins=True))]
    forget_all_routes()
    assert pointwise.add(x, x).array.tolist() == [2.0]


@pytest.mark.parametrize(
    "returns", ["Tensor", "(Tensor, Tensor)", "Tensor[]", "(Tensor(a!), Tensor(b!))"]
)
def test_a_plan_through_a_kernel_of_another_asks_the_backend_once(
    lib: Library, tensor: Tensors, monkeypatch: pytest.MonkeyPatch, returns: str
) -> None:
    writes = "!" in returns
    outs = ", *, Tensor(a!) one, Tensor(b!) two" if writes else ""
    lib.define(f"of(Tensor x{outs}) -> {returns}")
    made: Any = {"Tensor": np.negative, "Tensor[]": lambda x: [x + 1]}
    lib.array_impl("of", made.get(returns, lambda x, **_: (x + 1, x + 2)), "CPU")
    x, given = tensor([1.0]), {}
    if writes:
        given = {"one": tensor([0.0]), "two": tensor([0.0])}
    arrays = backend("cpu").arrays
    asked: list[list[str]] = []
    lower = arrays.lower

    def counted(kernel: Mapping[str, Any], facts: PlanFacts) -> dict[str, CallSpec]:
        asked.append(list(kernel))
        return lower(kernel, facts)

    with monkeypatch.context() as patch:
        patch.setattr(arrays, "lower", counted, raising=False)
        ops.aa.of(x, **given)
    assert len(asked) == 1


def test_a_replaced_kernel_takes_effect_in_the_variants_too(
    lib: Library, pointwise: Any, tensor: Tensors
) -> None:
    x = tensor([1.0])
    pointwise.add_(x, x)
    lib.array_impl("add", lambda x, y, *, alpha=1: x * 0 + 7, "CPU")
    pointwise.add_(x, tensor([1.0]))
    assert x.array.tolist() == [7.0]


def test_overriding_the_functional_operator_by_a_tensor_kernel_leaves_its_variants_alone(
    lib: Library, pointwise: Any, tensor: Tensors
) -> None:
    lib.impl("add", lambda x, y, *, alpha=1: x, "CPU")
    x = tensor([1.0])
    pointwise.add_(x, x)
    assert x.array.tolist() == [2.0]
