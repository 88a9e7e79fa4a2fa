"""`opcheck`: what of an operator's registrations does not fit together, with a program that shows
it; by the few operators of a small base library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import CustomOpDef, Library, OpCheckError, Tag, get_ctx, opcheck, ops
from dovetail_kernel import TensorBase, backend, float64, share_storage, wrap
from dovetail_kernel.signature import GRAD

Tensors = Callable[..., TensorBase]
CHECKS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)

pytestmark = pytest.mark.usefixtures("base")


def cpu(array: Any) -> TensorBase:
    """Return a tensor on the CPU."""
    return wrap(np.asarray(array), backend("cpu"))


def meta(shape: tuple[int, ...], dtype: Any) -> TensorBase:
    """Return a tensor without data."""
    arrays = backend("meta").arrays
    return wrap(arrays.empty(shape, arrays.native_dtypes[dtype]), backend("meta"))


def like(x: TensorBase) -> TensorBase:
    """Return a tensor without data of the shape of another."""
    return meta(tuple(x.shape), x.dtype)


def double(x: TensorBase) -> TensorBase:
    """Return twice a tensor."""
    return cpu(x.array * x.array.dtype.type(2))


def failing(op: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    """Return the failures by name of the check."""
    results = opcheck(op, args, kwargs, raise_exception=False)
    assert tuple(results) == CHECKS
    return {name: str(reason) for name, reason in results.items() if reason != "SUCCESS"}


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    """The operators of ``oc``."""
    return library("oc", "DEF")


@pytest.fixture
def define(lib: Library) -> Callable[..., Any]:
    """Defines ``oc::f`` with a kernel of the CPU and one of meta tensors."""

    def make(schema: str, kernel: Any, fake: Any = None, **options: Any) -> Any:
        lib.define(f"f{schema}", **options)
        lib.impl("f", kernel, "CPU")
        if fake is not None:
            lib.impl("f", fake, "Meta")
        return ops.oc.f

    return make


# -- what passes -----------------------------------------------------------------------------------


def test_an_operator_whose_registrations_fit_passes(
    define: Callable[..., Any], tensor: Tensors
) -> None:
    op = define("(Tensor x) -> Tensor", double, like)
    assert failing(op, tensor([1.0, 2.0])) == failing(op.default, tensor([1], "int64")) == {}
    assert failing(op, tensor(np.zeros((2, 0), "float32"))) == {}


def test_a_custom_op_is_checked(make: Callable[..., CustomOpDef], tensor: Tensors) -> None:
    def f(x: TensorBase, *, n: int = 2) -> TensorBase:
        return cpu(x.array * n)

    op = make(f)
    op.register_fake(lambda x, n=2: like(x))
    assert failing(op, tensor([1.0]), n=3) == {}


def test_a_declared_write_and_a_declared_view_pass(
    define: Callable[..., Any], lib: Library, tensor: Tensors
) -> None:
    def add_(x: TensorBase) -> TensorBase:
        x.array += 1
        return x

    op = define("(Tensor(a!) x) -> Tensor(a!)", add_, lambda x: x)
    x = tensor([1.0])
    assert failing(op, x) == {} and x.array.tolist() == [1.0]
    lib.define("view(Tensor(a) x) -> Tensor(a)")
    lib.impl("view", lambda x: cpu(x.array[:1]), "CPU")
    lib.impl("view", lambda x: meta((1,), x.dtype), "Meta")
    assert failing(ops.oc.view, tensor([1.0, 2.0])) == {}


def test_results_that_depend_on_data_need_no_fake(
    define: Callable[..., Any], tensor: Tensors
) -> None:
    op = define("(Tensor x) -> Tensor", double, tags=(Tag.dynamic_output_shape,))
    assert failing(op, tensor([1.0])) == {}


def test_a_device_among_the_arguments_is_meta_for_fakes(
    define: Callable[..., Any], tensor: Tensors
) -> None:
    given: list[Any] = []

    def fake(x: TensorBase, device: Any) -> TensorBase:
        given.append(device)
        return like(x)

    op = define("(Tensor x, Device device) -> Tensor", lambda x, device: double(x), fake)
    x = tensor([1.0])
    assert failing(op, x, x.device) == {}
    assert {each.type for each in given} == {"meta"}


def test_no_results_and_several_are_compared(
    define: Callable[..., Any], lib: Library, tensor: Tensors
) -> None:
    op = define(
        "(Tensor[] xs) -> (Tensor, Tensor[])",
        lambda xs: (double(xs[0]), [double(each) for each in xs]),
        lambda xs: (like(xs[0]), [like(each) for each in xs]),
    )
    assert failing(op, [tensor([1.0]), tensor([2.0, 3.0])]) == {}
    lib.define("nothing(Tensor x) -> ()")
    lib.impl("nothing", lambda x: None, "CompositeExplicitAutograd")
    assert failing(ops.oc.nothing, tensor([1.0])) == {}


# -- schemas ---------------------------------------------------------------------------------------


def test_a_write_that_is_not_declared_fails(define: Callable[..., Any], tensor: Tensors) -> None:
    def write(x: TensorBase, ys: list[TensorBase]) -> TensorBase:
        ys[1].array += 1
        return double(x)

    op = define("(Tensor x, Tensor[] ys) -> Tensor", write, lambda x, ys: like(x))
    x, ys = tensor([1.0]), [tensor([1.0]), tensor([2.0])]
    reasons = failing(op, x, ys)
    assert "Argument ys is not defined as mutable but was mutated" in reasons["test_schema"]
    assert ys[1].array.tolist() == [2.0]


def test_a_result_that_shares_memory_undeclared_fails(
    define: Callable[..., Any], tensor: Tensors
) -> None:
    op = define("(Tensor x) -> Tensor", lambda x: cpu(x.array[:1]))
    assert (
        "Argument x is not defined to alias output but was aliasing"
        in failing(op, tensor([1.0, 2.0]))["test_schema"]
    )


def test_two_results_that_share_memory_fail(define: Callable[..., Any], tensor: Tensors) -> None:
    def twice(x: TensorBase) -> tuple[TensorBase, TensorBase]:
        made = double(x)
        again = cpu(made.array[:1])
        again._storage = share_storage(made)
        return made, again

    op = define("(Tensor x) -> (Tensor, Tensor)", twice)
    assert "Outputs 0 and 1 alias unexpectedly" in failing(op, tensor([1.0, 2.0]))["test_schema"]


@pytest.mark.parametrize(
    ("key", "fails"), [("CompositeImplicitAutograd", False), ("CompositeExplicitAutograd", True)]
)
def test_what_a_composite_shares_is_the_business_of_its_parts(
    lib: Library, tensor: Tensors, key: str, fails: bool
) -> None:
    lib.define("same(Tensor x) -> Tensor")
    lib.impl("same", lambda x: x, key)
    assert ("test_schema" in failing(ops.oc.same, tensor([1.0]))) is fails


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_new", [True, False])
def test_a_kernel_of_a_backend_makes_nothing_that_requires_grad(
    define: Callable[..., Any], tensor: Tensors, is_new: bool
) -> None:
    def kernel(x: TensorBase) -> TensorBase:
        made = double(x) if is_new else x
        made._signature |= GRAD
        return made

    x = tensor([1.0])
    x._signature |= GRAD
    schema = "(Tensor x) -> Tensor" if is_new else "(Tensor(a!) x) -> Tensor(a!)"
    op = define(schema, kernel, like if is_new else lambda x: x)
    results = opcheck(op, (x,), test_utils="test_autograd_registration", raise_exception=False)
    assert ("at an autograd key" in str(results["test_autograd_registration"])) is is_new


# -- fakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (lambda x: meta((7,), x.dtype), "and dovetail.Size([7]) are not equal"),
        (lambda x: meta((3, 1), x.dtype), "Their ranks are 1 and 2"),
        (lambda x: meta((3,), float64), "Dtypes dovetail.float32 and dovetail.float64"),
        (lambda x: double(cpu([1.0] * 3)), "meta"),
        (None, "f"),
    ],
    ids=["size", "rank", "dtype", "device", "none"],
)
def test_a_fake_that_differs_from_the_kernel_fails(
    define: Callable[..., Any], tensor: Tensors, fake: Any, words: str
) -> None:
    op = define("(Tensor x) -> Tensor", double, fake)
    assert words in failing(op, tensor([1.0, 2.0, 3.0]))["test_faketensor"]


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (lambda x: [like(x)], "Numbers of tensors 2 and 1 are not equal"),
        (lambda x: [like(x), None], "Tensor"),
    ],
)
def test_a_fake_returns_as_many_tensors(
    define: Callable[..., Any], tensor: Tensors, fake: Any, words: str
) -> None:
    op = define("(Tensor x) -> Tensor[]", lambda x: [double(x), double(x)], fake)
    assert words in failing(op, tensor([1.0]))["test_faketensor"]


def new_size(**limits: int) -> int:
    """Return a size that depends on data."""
    context = get_ctx()
    assert context is not None
    return context.new_dynamic_size(**limits)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (lambda: (new_size(), 3), None),
        (lambda: (new_size(min=1, max=4), 3), None),
        (lambda: (new_size(min=2, max=2), 3), None),
        (lambda: (new_size(),), "Their ranks are 2 and 1"),
        (lambda: (new_size(), 4), "are not equal"),
        (lambda: (new_size(min=5), 3), "The size 2 .* is not between min=5 and max=None"),
        (lambda: (new_size(max=1), 3), "is not between min=0 and max=1"),
    ],
)
def test_a_size_that_depends_on_data_is_compared_as_far_as_it_is_known(
    make: Callable[..., CustomOpDef], tensor: Tensors, shape: Any, words: str | None
) -> None:
    def f(x: TensorBase) -> TensorBase:
        return cpu(x.array[x.array[:, 0] != 0])

    op = make(f)
    op.register_fake(lambda x: meta(shape(), x.dtype))
    x = tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [4.0, 1.0, 1.0]])
    if words is None:
        assert opcheck(op, (x,), test_utils="test_faketensor") == {"test_faketensor": "SUCCESS"}
        return
    with pytest.raises(OpCheckError, match=words):
        opcheck(op, (x,), test_utils="test_faketensor")


def test_a_fake_that_asks_for_more_sizes_the_next_time_fails(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    asked: list[int] = []

    def fake(x: TensorBase) -> TensorBase:
        asked.append(new_size())
        return meta((asked[-1] if len(asked) == 1 else new_size(),), x.dtype)

    op = make(double, schema="(Tensor x) -> Tensor")
    op.register_fake(fake)
    with pytest.raises(OpCheckError, match="test_faketensor"):
        opcheck(op, (tensor([1.0]),), test_utils="test_faketensor")


def test_a_size_that_is_computed_from_another_may_be_zero(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    def f(x: TensorBase) -> TensorBase:
        return cpu(np.zeros(2 * np.count_nonzero(x.array), "float32"))

    op = make(f)
    op.register_fake(lambda x: meta((2 * new_size(),), x.dtype))
    for values in ([0.0, 0.0], [1.0, 0.0]):
        results = opcheck(op, (tensor(values),), test_utils="test_faketensor")
        assert results == {"test_faketensor": "SUCCESS"}


def test_a_size_that_depends_on_data_is_none_outside_checks(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    def f(x: TensorBase) -> TensorBase:
        return cpu(x.array)

    assert get_ctx() is None
    op = make(f)
    op.register_fake(lambda x: meta((new_size(),), x.dtype))
    with pytest.raises(RuntimeError, match="operator may return an output Tensor with"):
        op(tensor([1.0], device="meta"))


# -- which checks, and what they say ---------------------------------------------------------------


def test_only_the_checks_asked_for_are_made(define: Callable[..., Any], tensor: Tensors) -> None:
    op = define("(Tensor x) -> Tensor", double)
    x = tensor([1.0])
    assert opcheck(op, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    both = ("test_schema", "test_aot_dispatch_static")
    results = opcheck(op, [x], test_utils=both, raise_exception=False)
    assert tuple(results) == both


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: opcheck(ops.oc.f, (x,), test_utils="test_foo"), ValueError, "to be subset of"),
        (lambda x: opcheck(ops.oc.f, x), TypeError, "must be a sequence of arguments"),
        (lambda x: opcheck(ops.oc.f, {"x": x}), TypeError, "not dict"),
        (lambda x: opcheck("oc::f", (x,)), ValueError, "op must be instance of OpOverload"),
        (lambda x: opcheck(ops.oc.g, (x,)), ValueError, "has the overloads one, two"),
        (lambda x: opcheck(ops.oc.f, (x, x)), RuntimeError, "expected at most 1"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    define: Callable[..., Any], lib: Library, tensor: Tensors, call: Any, error: Any, words: str
) -> None:
    define("(Tensor x) -> Tensor", double)
    lib.define("g.one(Tensor x) -> Tensor")
    lib.define("g.two(Tensor x, int n) -> Tensor")
    with pytest.raises(error, match=words):
        call(tensor([1.0]))


def test_an_error_has_a_program_that_repeats_it(
    define: Callable[..., Any], tensor: Tensors
) -> None:
    def kernel(x: TensorBase, values: Any, dtype: Any, y: Any, z: Any) -> TensorBase:
        x.array += 1
        return double(x)

    op = define(
        "(Tensor x, float[] values, ScalarType dtype, Tensor y, *, Tensor? z=None) -> Tensor",
        kernel,
    )
    on_meta = tensor([1.0], device="meta")
    with pytest.raises(OpCheckError, match=r"empty\(\(1,\), dtype=.*float32, device='meta'\)"):
        opcheck(op, (tensor([1.0]), [], on_meta.dtype, on_meta))
    inf = float("inf")
    x, y = tensor([1.0, inf], "float64"), tensor(np.zeros(100, "complex64"))
    with pytest.raises(OpCheckError, match="test_schema failed with Argument x") as caught:
        opcheck(op, (x, [1.5, -inf], x.dtype, y), {"z": tensor(np.zeros(40, "int64"))})
    assert isinstance(caught.value.__cause__, RuntimeError)
    text = str(caught.value)
    assert f"defined at {__file__}" in text
    assert "op = dovetail.ops.oc.f.default" in text
    assert (
        "opcheck(op, [dovetail.tensor([1.0, float('inf')], dtype=dovetail.float64), "
        "[1.5, float('-inf')], dovetail.float64, dovetail.randn((100,), dtype=dovetail.complex64)]"
        ", {'z': dovetail.ones((40,), dtype=dovetail.int64)}, test_utils='test_schema')"
    ) in text
