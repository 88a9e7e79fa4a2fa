"""Batching rules of third parties: `register_vmap` for operators, `vmap` and `generate_vmap_rule`
of a Function.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.autograd import Function
from dovetail.library import Library, _scoped_library, custom_op, register_vmap

X = dt.tensor(np.random.default_rng(0).standard_normal((3, 4)))


@pytest.fixture
def lib() -> Iterator[Library]:
    with _scoped_library("vmaps", "FRAGMENT") as lib:
        yield lib


def scale_in(lib: Library) -> Any:
    """Define ``vmaps::scale``, without rule."""
    lib.define("scale(Tensor x, int n=2, *, float k=1.0) -> Tensor")
    lib.impl("scale", lambda x, n=2, *, k=1.0: x * n * k, "CPU")
    return dt.ops.vmaps.scale


def assert_equal(found: Any, wanted: Any) -> None:
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(found.detach().cpu().numpy(), wanted.detach().cpu().numpy())


# -- the loop --------------------------------------------------------------------------------------


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
def test_an_operator_without_rule_is_called_per_sample_with_one_warning(lib: Library) -> None:
    scale = scale_in(lib)
    text = (
        "There is a performance drop because we have not yet "
        "implemented the batching rule for vmaps::scale"
    )
    with pytest.warns(UserWarning, match=re.escape(text)):
        found = dt.vmap(lambda x: scale(x, 3))(X)
    assert_equal(found, X * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal(dt.vmap(lambda x: scale(x, 3))(X), X * 3)


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_the_loop_writes_into_the_batch(lib: Library) -> None:
    lib.define("grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("grow_", lambda x, y: x.add_(y), "CPU")
    batch = X.clone()
    assert_equal(dt.vmap(lambda x: dt.ops.vmaps.grow_(x, x.clone()))(batch), X * 2)
    assert_equal(batch, X * 2)


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_the_loop_returns_lists(lib: Library) -> None:
    lib.define("both(Tensor[] x) -> Tensor[]")
    lib.impl("both", lambda x: [each + 1 for each in x], "CPU")
    found = dt.vmap(lambda x: dt.ops.vmaps.both([x, dt.ones(2)]))(X)
    assert_equal(found[0], X + 1)
    assert_equal(found[1], dt.full((3, 2), 2.0))


@pytest.mark.parametrize(
    ("schema", "kernel", "text"),
    [
        (
            "op(Tensor(a) x) -> Tensor(a)",
            lambda x: x[0],
            "the fallback path doesn't work on out= or view ops",
        ),
        (
            "op(Tensor x) -> ()",
            lambda x: None,
            "The fallback path does not support operations with no returns",
        ),
        ("op(Tensor x) -> float", lambda x: 1.0, "We could not generate a fallback"),
    ],
)
def test_what_cannot_be_looped_over_is_refused(
    lib: Library, schema: str, kernel: Any, text: str
) -> None:
    lib.define(schema)
    lib.impl("op", kernel, "CPU")
    with pytest.raises(RuntimeError, match=f"Batching rule not implemented for vmaps::op.*{text}"):
        dt.vmap(dt.ops.vmaps.op)(X)


def test_a_loop_over_nothing_is_refused(lib: Library) -> None:
    scale = scale_in(lib)
    with pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"):
        dt.vmap(scale)(X[:0])


def test_writing_a_sample_into_what_is_shared_is_refused(lib: Library) -> None:
    lib.define("grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("grow_", lambda x, y: x.add_(y), "CPU")
    with pytest.raises(
        RuntimeError, match=r"vmap: vmaps::grow_\(self, \*extra_args\) is not possible"
    ):
        dt.vmap(lambda x: dt.ops.vmaps.grow_(dt.ones(4), x))(X)


def test_the_loop_goes_under_an_outer_map_and_a_graph(lib: Library) -> None:
    scale = scale_in(lib)
    register_vmap(
        "vmaps::scale", lambda info, in_dims, x, n=2, *, k=1.0: (x * n * k, in_dims[0]), lib=lib
    )
    x = X.clone().requires_grad_()
    assert dt.autograd.gradcheck(dt.vmap(dt.vmap(lambda a: scale(a, 5))), x)


# -- register_vmap ---------------------------------------------------------------------------------


def test_a_rule_gets_the_batch_and_what_differs_from_defaults(lib: Library) -> None:
    scale = scale_in(lib)
    seen = []

    def rule(info: Any, in_dims: Any, x: Any, n: int = 2, **options: Any) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), n, options))
        return x * n, in_dims[0]

    assert register_vmap("vmaps::scale", rule, lib=lib) is None
    assert_equal(dt.vmap(scale, in_dims=1, randomness="same")(X), X.t() * 2)
    dt.vmap(lambda x: scale(x, 4, k=3.0))(X)
    assert seen == [
        (4, "same", (0,), (4, 3), 2, {}),
        (3, "error", (0, None), (3, 4), 4, {"k": 3.0}),
    ]


def test_register_vmap_decorates(lib: Library) -> None:
    scale = scale_in(lib)

    @register_vmap("vmaps::scale", lib=lib)
    def rule(info: Any, in_dims: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return x + 100, 0

    assert callable(rule)
    assert_equal(dt.vmap(scale)(X), X + 100)


def test_a_rule_goes_with_its_library_and_uncovers_the_one_before(lib: Library) -> None:
    scale = scale_in(lib)
    register_vmap("vmaps::scale", lambda info, in_dims, x, n=2: (x * 10, 0), lib=lib)
    with _scoped_library("vmaps", "FRAGMENT") as other:
        register_vmap(
            dt.ops.vmaps.scale.default, lambda info, in_dims, x, n=2: (x * 20, 0), lib=other
        )
        assert_equal(dt.vmap(scale)(X), X * 20)
    assert_equal(dt.vmap(scale)(X), X * 10)


def test_lists_of_tensors_have_lists_of_dimensions(lib: Library) -> None:
    lib.define("join(Tensor[] x, Tensor? y=None) -> (Tensor, Tensor)")
    seen = []

    def rule(info: Any, in_dims: Any, x: Any, y: Any = None) -> Any:
        seen.append(in_dims)
        return (x[0] + 1, dt.ones(2)), (in_dims[0][0], None)

    register_vmap("vmaps::join", rule, lib=lib)
    first, second = dt.vmap(lambda x: dt.ops.vmaps.join([x, dt.ones(1)]))(X)
    dt.vmap(lambda x: dt.ops.vmaps.join([dt.ones(1), x], x), out_dims=None)
    assert seen == [([0, None],)]
    assert_equal(first, X + 1)
    assert_equal(second, dt.ones(3, 2))


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (
            lambda info, in_dims, x: x,
            RuntimeError,
            "Expected the vmap staticmethod to have two returns",
        ),
        (lambda info, in_dims, x: (x, 0, 0), RuntimeError, "Got 3 returns instead"),
        (
            lambda info, in_dims, x: (x, (0, 0)),
            RuntimeError,
            "returned an incompatible (output, out_dims) tuple",
        ),
        (lambda info, in_dims, x: (x, "0"), TypeError, "a batch dimension is an int or None"),
        (lambda info, in_dims, x: (x, 5), IndexError, "Dimension out of range"),
    ],
)
def test_what_a_rule_returns_is_checked(
    lib: Library, rule: Any, error: type[Exception], text: str
) -> None:
    scale = scale_in(lib)
    register_vmap("vmaps::scale", rule, lib=lib)
    with pytest.raises(error, match=re.escape(text)):
        dt.vmap(scale)(X)


def test_a_rule_that_does_not_take_the_arguments_is_refused(lib: Library) -> None:
    scale_in(lib)
    with pytest.raises(
        TypeError, match=r"a rule of vmaps::scale is called as func\(info, in_dims, x\)"
    ):
        register_vmap("vmaps::scale", lambda info, in_dims: None, lib=lib)
    with pytest.raises(TypeError, match="expected a function"):
        register_vmap("vmaps::scale", 3, lib=lib)


def test_a_rule_for_what_is_no_operator_is_refused(lib: Library) -> None:
    with pytest.raises(ValueError, match=r"register_vmap\(3\): got unexpected type for op"):
        register_vmap(3, lambda info, in_dims: None)
    with pytest.raises(AttributeError, match="operator vmaps::nothing does not exist"):
        register_vmap("vmaps::nothing", lambda info, in_dims: None)


def test_a_rule_for_an_operator_that_decomposes_is_refused(lib: Library) -> None:
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="has a CompositeImplicitAutograd kernel"):
        register_vmap("vmaps::twice", lambda info, in_dims, x: (x, 0), lib=lib)
    assert_equal(dt.vmap(dt.ops.vmaps.twice)(X), X * 2)


def test_a_custom_op_has_its_rule_and_derivative_under_a_map() -> None:
    @custom_op("vmaps::cube", mutates_args=())
    def cube(x: dt.Tensor) -> dt.Tensor:
        return dt.tensor(x.detach().cpu().numpy() ** 3)

    calls = []

    @cube.register_vmap
    def _(info: Any, in_dims: Any, x: Any) -> Any:
        calls.append(in_dims)
        return cube(x), in_dims[0]

    cube.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    assert_equal(dt.vmap(cube)(X), X**3)
    assert calls == [(0,)]
    assert dt.autograd.gradcheck(dt.vmap(cube), X.clone().requires_grad_())

    assert_equal(dt.vmap(dt.func.grad(lambda x: cube(x).sum()))(X), 3 * X**2)
    cube.register_vmap(lambda info, in_dims, x: (x * 0, 0))
    assert_equal(dt.vmap(cube)(X), X * 0)
    cube._lib._destroy()


# -- Function --------------------------------------------------------------------------------------


class Square(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 * ctx.saved_tensors[0]


class Generated(Square):
    generate_vmap_rule = True


class Own(Square):
    seen: Any = ()

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        Own.seen = (info.batch_size, info.randomness, in_dims, tuple(x.shape))
        return Own.apply(x), in_dims[0]


class Both(Own):
    generate_vmap_rule = True


class OldStyle(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class Product(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, w: Any, power: int) -> Any:
        return x**power * w, x.sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, w, ctx.power = inputs
        ctx.save_for_backward(x, w, output[0])

    @staticmethod
    def backward(ctx: Any, grad: Any, of_sum: Any) -> Any:
        x, _w, product = ctx.saved_tensors
        assert ctx.needs_input_grad[:2] == (True, True)
        return grad * ctx.power * product / x + of_sum, grad * x**ctx.power, None


def test_a_function_uses_its_own_rule() -> None:
    assert_equal(dt.vmap(Own.apply, in_dims=1, randomness="different")(X), (X * X).t())
    assert Own.seen == (4, "different", (0,), (4, 3))


def test_the_rule_of_a_function_is_used_at_every_level() -> None:
    assert_equal(dt.vmap(dt.vmap(Own.apply))(X[None]), (X * X)[None])
    assert Own.seen == (1, "error", (0,), (1, 3, 4))


@pytest.mark.parametrize("function", [Own, Generated])
def test_gradients_flow_through_the_rule_of_a_function(function: type[Function]) -> None:
    x = X.clone().requires_grad_()
    assert dt.autograd.gradcheck(dt.vmap(function.apply), x, check_undefined_grad=False)
    assert dt.autograd.gradgradcheck(dt.vmap(function.apply), x, check_undefined_grad=False)


@pytest.mark.parametrize("function", [Own, Generated])
def test_gradients_inside_of_a_map_are_those_of_the_function(function: type[Function]) -> None:
    slope = dt.func.grad(lambda x: function.apply(x).sum())
    assert_equal(dt.vmap(slope)(X), 2 * X)
    assert_equal(dt.func.grad(lambda x: dt.vmap(function.apply)(x).sum())(X), 2 * X)


def test_a_generated_rule_sums_the_gradients_of_what_is_shared() -> None:
    x, w = (X.abs() + 1).requires_grad_(), (X[0].abs() + 1).requires_grad_()

    def run(x: Any, w: Any) -> Any:
        return dt.vmap(Product.apply, in_dims=(0, None, None))(x, w, 3)

    assert dt.autograd.gradcheck(run, (x, w))
    assert dt.autograd.gradgradcheck(run, (x, w))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Square, "You tried to vmap over Square, but it does not have vmap support"),
        (Both, "it has both generate_vmap_rule=True and an overridden vmap staticmethod"),
        (OldStyle, "it must override the setup_context staticmethod"),
    ],
)
def test_a_function_without_one_rule_is_refused_under_a_map_only(
    function: type[Function], text: str
) -> None:
    assert tuple(function.apply(X).shape) == (3, 4)
    with pytest.raises(RuntimeError, match=text):
        dt.vmap(function.apply)(X)


def test_arguments_in_containers_have_dimensions_in_containers() -> None:
    class Listed(Function):
        @staticmethod
        def forward(xs: Any, n: int) -> Any:
            return xs[0] * n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, xs: Any, n: int) -> Any:
            assert in_dims == ([0, None], None)
            return xs[0] * n + xs[1].sum(), 0

    assert_equal(dt.vmap(lambda x: Listed.apply([x, dt.ones(2)], 3))(X), X * 3 + 2)


def test_what_the_rule_of_a_function_returns_is_checked() -> None:
    class Short(Square):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x

    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        dt.vmap(Short.apply)(X)


def test_a_batch_given_by_keyword_is_mapped_over() -> None:
    """Also where no positional argument has one."""
    x = dt.tensor([0.5, 1.5, 1.7])
    weights = dt.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])

    def hist(weight: dt.Tensor) -> dt.Tensor:
        return dt.histogram(x, 2, range=(0.0, 2.0), weight=weight).hist

    assert dt.vmap(hist)(weights).tolist() == [[1, 5], [0, 1]]
