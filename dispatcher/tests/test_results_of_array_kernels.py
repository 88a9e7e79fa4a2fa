"""What an array kernel may return, and tensors of other backends among its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, kernel_namespace, ops, without_conditions
from dovetail_dispatcher.table.kernel_namespace import NoArrayKernelError, add_helpers
from dovetail_kernel import TensorBase, backend, share_storage, wrap
from dovetail_kernel.keys import inference_mode_on
from dovetail_kernel.keys.state import StateGuard

Tensors = Callable[..., TensorBase]


@pytest.fixture
def returning(library: Callable[..., Library], tensor: Tensors) -> Callable[..., Any]:
    """Calls an array kernel that returns something, under a schema."""
    lib = library("ra", "DEF")
    made: list[str] = []

    def call(returns: str, kernel: Any, *args: Any, arguments: str = "Tensor x") -> Any:
        name = f"f{len(made)}"
        made.append(lib.define(f"{name}({arguments}) -> {returns}"))
        lib.array_impl(name, kernel, "CPU")
        return getattr(ops.ra, name)(*(args or (tensor([1.0, 2.0]),)))

    return call


@pytest.mark.parametrize(
    ("returns", "kernel", "message"),
    [
        ("Tensor", lambda x: [1.0], r"returned a builtins.list, .* returns numpy.ndarray"),
        ("Tensor", lambda x: 1.0, "returned a builtins.float"),
        ("Tensor", lambda x: None, "None"),
        ("Tensor", lambda x: np.ma.masked_array(x, [True, False]), "MaskedArray"),
        ("(Tensor, Tensor)", lambda x: x.sum(), "f0"),
        ("(Tensor, Tensor)", lambda x: (x * 2,), "f0"),
        ("Tensor[]", lambda x: 3, "f0"),
        ("Tensor[]", lambda x: [x * 2, None], "f0"),
        ("int", lambda x: "a", "f0"),
        ("()", lambda x: x * 2, "f0"),
    ],
)
def test_a_result_that_the_schema_has_not_is_an_error_that_names_the_kernel(
    returning: Callable[..., Any], returns: str, kernel: Any, message: str
) -> None:
    with pytest.raises((RuntimeError, TypeError), match=message) as raised:
        returning(returns, kernel)
    assert f"{__file__}:" in str(raised.value)


def test_a_dtype_that_no_tensor_has_is_an_error_that_lists_those_it_may_have(
    returning: Callable[..., Any],
) -> None:
    for kernel in (lambda x: x.astype("U4"), lambda x: np.array(["a"])):
        with pytest.raises(TypeError, match=r"dtype <U\d+, which tensors on cpu cannot .*float32"):
            returning("Tensor", kernel)


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x: x[:1], lambda x: x.reshape(2, 1)])
def test_a_new_result_does_not_share_memory(returning: Callable[..., Any], kernel: Any) -> None:
    with pytest.raises(RuntimeError, match="shares memory with one of its arguments or other"):
        returning("Tensor", kernel)
    with pytest.raises(RuntimeError, match="shares memory"):
        returning("Tensor[]", lambda x: [kernel(x)])
    with pytest.raises(RuntimeError, match="shares memory"):
        returning("(Tensor, int)", lambda x: (kernel(x), 1))
    with pytest.raises(RuntimeError, match="shares memory"):
        returning("(Tensor, Tensor)", lambda x: (made := x * 2, kernel(made)))


def test_a_view_lies_in_the_memory_of_its_argument(returning: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="returned an array in memory of its own"):
        returning("Tensor(a)", lambda x: x[:1].copy(), arguments="Tensor(a) x")


def test_views_in_a_list_share_storage_and_version(
    returning: Callable[..., Any], tensor: Tensors
) -> None:
    x = tensor([1.0, 2.0])
    views = returning("Tensor(a)[]", lambda x: [x[:1], x[1:]], x, arguments="Tensor(a -> *) x")
    assert [view.array.tolist() for view in views] == [[1.0], [2.0]]
    assert {id(share_storage(each)) for each in (x, *views)} == {id(share_storage(x))}
    assert views[0]._counter is views[1]._counter is x._counter


def test_results_of_several_kinds(returning: Callable[..., Any], tensor: Tensors) -> None:
    value, count, others, none = returning(
        "(Tensor, int, Tensor[], Tensor?)",
        lambda x: (x * 2, np.int64(3), (x + 1, np.float32(5)), None),
    )
    assert value.array.tolist() == [2.0, 4.0] and count == 3 and type(count) is int
    assert [each.array.tolist() for each in others] == [[2.0, 3.0], 5.0]
    assert type(others[1].array) is np.ndarray and none is None
    assert returning("float", lambda x: 2) == 2.0
    assert returning("()", lambda x: None) is None


def test_results_in_inference_mode_are_inference_tensors(
    returning: Callable[..., Any], tensor: Tensors
) -> None:
    with StateGuard(inference_mode_on):
        one = returning("Tensor", lambda x: x * 2)
        _, several = returning("(int, Tensor[])", lambda x: (1, [x * 2]))
    assert one.is_inference() and several[0].is_inference()
    assert not returning("Tensor", lambda x: x * 2).is_inference()


@pytest.mark.parametrize(
    "schema",
    [
        "f(Tensor(a!) x, Tensor(b!) y) -> ()",
        "f(Tensor(a!) x) -> (Tensor(a!), Tensor)",
        "f(Tensor(a!) x, *, Tensor(b!) out) -> Tensor(b!)",
        "f.out(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> Tensor(a!)",
    ],
)
def test_writes_that_an_array_kernel_cannot_express_are_refused(
    library: Callable[..., Library], tensor: Tensors, schema: str
) -> None:
    lib = library("ra", "DEF")
    lib.define(schema)
    name = schema.partition("(")[0]
    lib.array_impl(name, lambda *args: args[0], "CPU")
    x, y = tensor([1.0]), tensor([2.0])
    overload = ops.ra.f.out if "." in name else ops.ra.f.default
    given = {a.name: y for a in overload._schema.arguments if a.kwarg_only}
    args = (x, y) if "Tensor(b!) y" in schema else (x,)
    with pytest.raises(RuntimeError, match=r"Register a kernel that takes tensors: Library\.impl"):
        overload(*args, **given)


# -- tensors of other backends ---------------------------------------------------------------------


def test_tensors_of_another_backend_are_refused(
    returning: Callable[..., Any], library: Callable[..., Library], tensor: Tensors
) -> None:
    lib = library("rb", "DEF")
    lib.define("add(Tensor x, Tensor y) -> Tensor")
    lib.array_impl("add", lambda x, y: x + y, "CPU")
    lib.array_impl("add", lambda x, y: x, "Meta")
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device"):
        ops.rb.add(tensor([1.0, 2.0]), tensor([1.0], device="meta"))


# -- conditions and array kernels by name ----------------------------------------------------------


def test_kernels_with_conditions_are_switched_off_for_a_block(
    library: Callable[..., Library], tensor: Tensors
) -> None:
    lib = library("ra", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.array_impl("f", lambda x: x * 2, "CPU")
    lib.array_impl("f", lambda x: x * 3, "CPU", when=lambda x: x.size > 1, why="several")
    few, many = tensor([1.0]), tensor([1.0, 1.0])

    def results() -> list[Any]:
        return [ops.ra.f(each).array.tolist() for each in (few, many)]

    assert results() == [[2.0], [3.0, 3.0]]
    with without_conditions():
        assert results() == [[2.0], [2.0, 2.0]]
        with without_conditions():
            pass
        assert results() == [[2.0], [2.0, 2.0]]
    assert results() == [[2.0], [3.0, 3.0]]
    with pytest.raises(KeyError), without_conditions():
        raise KeyError
    assert results() == [[2.0], [3.0, 3.0]]


def test_array_kernels_are_found_by_name(library: Callable[..., Library]) -> None:
    lib = library("aten", "FRAGMENT")

    def f(x: Any, *, n: int = 2) -> Any:
        return x * n

    def fast(x: Any) -> Any:
        return x * 2

    def g(x: Any) -> Any:
        return x

    lib.define("zz_f(Tensor x, *, int n=2) -> Tensor")
    lib.array_impl("zz_f", f, "CPU", fast_path=fast)
    lib.define("zz_g(Tensor x) -> Tensor")
    lib.array_impl("zz_g", g, "CPU", fast_path=fast)
    lib.define("zz_h(Tensor x) -> Tensor")
    lib.impl("zz_h", lambda x: x, "CPU")
    add_helpers(backend("cpu"), {"zz_helper": g})
    k = kernel_namespace(backend("cpu"))
    assert k is kernel_namespace(backend("cpu"))
    array = np.ones(1)
    assert k.zz_f(array, n=3).tolist() == [3.0] and k.zz_f is k.zz_f
    assert k.zz_g(array).tolist() == [2.0]  # of tensors alone: the faster form
    assert k.zz_helper is g
    for missing in ("zz_h", "zz_nothing"):
        with pytest.raises(NoArrayKernelError, match=f"aten::{missing} has no array kernel on cpu"):
            getattr(k, missing)
    with pytest.raises(AttributeError):
        k.__zz__  # noqa: B018 - no array kernel
    lib.impl("zz_f", lambda x, n=2: x, "Autograd")
    later = kernel_namespace(backend("cpu"))
    assert later is not k
    with pytest.raises(NoArrayKernelError):
        later.zz_f  # noqa: B018 - a kernel stands before it
    assert later.zz_helper is g


def test_a_view_of_a_scalar_is_an_array(returning: Callable[..., Any]) -> None:
    x = wrap(np.array(2.0), backend("cpu"))
    made = returning("Tensor(a)[]", lambda x: [x[...]], x, arguments="Tensor(a -> *) x")
    assert made[0].array.shape == () and share_storage(made[0]) is share_storage(x)


@pytest.mark.parametrize(
    ("returns", "given", "expected"),
    [
        ("int", 3, 3),
        ("int", np.int64(3), 3),
        ("int", 3.0, None),
        ("int", np.float32(2.5), None),
        ("bool", np.bool_(True), True),
        ("bool", None, None),
        ("int[]", (1, 2), [1, 2]),
        ("int[]", [1, 2.5], None),
        ("int[]", np.array([1, 2]), None),
        ("int?", None, None),
        ("float[]?", [1, 2.5], [1.0, 2.5]),
        ("str", "word", "word"),
        ("str", 3, None),
    ],
)
def test_results_that_are_no_tensors_have_the_class_of_the_schema(
    returning: Callable[..., Any], returns: str, given: Any, expected: Any
) -> None:
    if expected is None and not returns.endswith("?"):
        with pytest.raises(RuntimeError, match="Unable to cast"):
            returning(returns, lambda x: given)
        return
    found = returning(returns, lambda x: given)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("given", [3, lambda x: x], ids=["number", "tensor"])
def test_as_many_arrays_as_outs_are_returned(
    library: Callable[..., Library], tensor: Tensors, given: Any
) -> None:
    lib = library("ra", "DEF")
    schema = "both.out(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))"
    lib.define(schema)
    lib.array_impl("both.out", lambda x: (x,) if callable(given) else given, "CPU")
    a, b = tensor([5.0]), tensor([6.0])
    with pytest.raises(RuntimeError, match="needs 2 arrays"):
        ops.ra.both.out(tensor([1.0]), a=a, b=b)
    assert (a.array.tolist(), b.array.tolist()) == ([5.0], [6.0])
