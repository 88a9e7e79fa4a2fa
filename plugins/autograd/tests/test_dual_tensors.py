"""`forward_ad` and the interpreter of dual tensors: levels, formulas, views, writes, graphs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from small_library import close, needs_base, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function
from dovetail_autograd.forward_ad import (
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)
from dovetail_autograd.transforms import active_levels, jvp, vmap
from dovetail_dispatcher import Library, ops, register_autograd

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
sub = ops.aten.sub.Tensor
total, clone, detach = ops.aten.sum.default, ops.aten.clone.default, ops.aten.detach.default
add_, mul_, copy_ = ops.aten.add_.Tensor, ops.aten.mul_.Tensor, ops.aten.copy_.default
zero_, select, view = ops.aten.zero_.default, ops.aten.select.int, ops.aten.view.default
unbind, stack = ops.aten.unbind.int, ops.aten.stack.default

VALUES = np.array([0.3, 0.7, -0.2])
TANGENT = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def level() -> Iterator[None]:
    with dual_level():
        yield


def dual(values: Any = VALUES, tangent: Any = TANGENT) -> Any:
    return make_dual(real(values), real(tangent))


def check(found: Any, primal: Any, tangent: Any) -> None:
    parts = unpack_dual(found)
    close(parts.primal, primal)
    if tangent is None:
        assert parts.tangent is None
    else:
        close(parts.tangent, tangent)


# -- levels ----------------------------------------------------------------------------------------


def test_a_dual_tensor_needs_a_level() -> None:
    with pytest.raises(RuntimeError, match=r"no level exists, make sure to enter_dual_level"):
        dual()


def test_levels_do_not_nest() -> None:
    assert enter_dual_level() == 0
    try:
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            enter_dual_level()
        assert len(active_levels()) == 1
    finally:
        exit_dual_level()
    assert active_levels() == ()


def test_only_the_entered_level_can_be_left() -> None:
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        exit_dual_level()
    number = enter_dual_level()
    with pytest.raises(RuntimeError, match="was not the last one that was created"):
        exit_dual_level(level=number + 1)
    exit_dual_level(level=number)
    assert active_levels() == ()


def test_tangents_are_gone_with_their_level() -> None:
    with dual_level() as number:
        x = dual()
        y = mul(x, x)
        assert number == 0
    for each, values in ((x, VALUES), (y, VALUES**2)):
        primal, tangent = unpack_dual(each)
        assert tangent is None
        close(primal, values)
    close(unpack_dual(add(x, x)).primal, 2 * VALUES)
    with dual_level():
        check(make_dual(unpack_dual(x).primal, real(VALUES)), VALUES, VALUES)


def test_a_failed_block_leaves_its_level() -> None:
    with pytest.raises(KeyError), dual_level():
        raise KeyError
    assert active_levels() == ()
    with dual_level():
        pass


@pytest.mark.usefixtures("level")
class TestMaking:
    def test_a_dual_tensor_has_the_tangent_that_it_was_given(self) -> None:
        x, v = real(VALUES), real(TANGENT)
        made = make_dual(x, v)
        assert unpack_dual(made).tangent is v
        assert unpack_dual(made).primal._storage is x._storage
        assert unpack_dual(x).tangent is None
        assert unpack_dual(x).primal is x

    @pytest.mark.parametrize(
        ("primal", "tangent", "error", "message"),
        [
            (3.0, real(1.0), TypeError, r"argument 'tensor' must be Tensor, not float"),
            (real(1.0), 3.0, TypeError, r"argument 'tangent' must be Tensor, not float"),
            (
                tensor([1], dtype=np.int64),
                real([1.0]),
                ValueError,
                "Expected primal to be floating",
            ),
            (
                real([1.0]),
                tensor([1], dtype=np.int64),
                ValueError,
                "Expected tangent to be floating",
            ),
            (real([1.0]), real([1.0, 2.0]), RuntimeError, r"of size \[1\] .* of size \[2\]"),
        ],
    )
    def test_other_parts_are_refused(
        self, primal: Any, tangent: Any, error: Any, message: str
    ) -> None:
        with pytest.raises(error, match=message):
            make_dual(primal, tangent)

    def test_neither_part_may_be_dual(self) -> None:
        with pytest.raises(
            RuntimeError, match="already has a forward gradient at the same level 0"
        ):
            make_dual(dual(), real(TANGENT))
        with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level0"):
            make_dual(real(VALUES), dual())

    def test_only_tensors_are_unpacked(self) -> None:
        with pytest.raises(TypeError, match=r"argument 'dual' must be Tensor, not int"):
            unpack_dual(3)

    def test_the_tangent_is_cast_to_the_dtype(self) -> None:
        made = make_dual(real([1.0]), tensor([2.0]))
        check(made, [1.0], [2.0])
        assert unpack_dual(made).tangent.dtype is real([1.0]).dtype

    @needs_base
    def test_the_text_shows_the_tangent(self) -> None:
        text = repr(dual([1.0], [2.0]).array)
        assert text.startswith("tensor([1.]")
        assert "tangent=tensor([2.]" in text


# -- operators -------------------------------------------------------------------------------------


X, V = VALUES, TANGENT
OPERATORS: dict[str, tuple[Any, Any, Any]] = {
    "product": (lambda x: mul(x, x), X**2, 2 * X * V),
    "product with a constant": (lambda x: mul(real(V), x), X * V, V * V),
    "difference": (lambda x: sub(exp(x), x), np.exp(X) - X, np.exp(X) * V - V),
    "sum": (total, X.sum(), V.sum()),
    "sum of dimensions": (lambda x: ops.aten.sum.dim_IntList(x, [0], True), [X.sum()], [V.sum()]),
    "copy": (clone, X, V),
    "element": (lambda x: select(x, 0, 1), X[1], V[1]),
    "elements": (lambda x: mul(*unbind(x)[:2]), X[0] * X[1], X[0] * V[1] + V[0] * X[1]),
    "view": (lambda x: view(x, [3, 1]), X[:, None], V[:, None]),
    "stack": (lambda x: stack([x, real(V), mul(x, x)]), [X, V, X**2], [V, 0 * V, 2 * X * V]),
    "broadcast": (
        lambda x: mul(view(x, [3, 1]), x),
        np.outer(X, X),
        np.outer(X, V) + np.outer(V, X),
    ),
    "strided": (lambda x: ops.aten.as_strided.default(x, [2], [2], 0), X[::2], V[::2]),
}


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_push_tangents_forward(name: str) -> None:
    function, primal, tangent = OPERATORS[name]
    check(function(dual()), primal, tangent)


@pytest.mark.usefixtures("level")
def test_no_tangent_goes_through_detach() -> None:
    check(detach(dual()), VALUES, None)
    check(mul(detach(dual()), dual()), VALUES**2, VALUES * TANGENT)


@pytest.mark.usefixtures("level")
def test_integers_have_no_tangent() -> None:
    if not hasattr(ops.aten, "argmax"):
        pytest.skip("the small library has no operator that returns integers")
    found = ops.aten.argmax.default(dual())
    assert unpack_dual(found).tangent is None


@pytest.mark.usefixtures("level")
def test_a_clone_shares_no_tangent_with_its_source() -> None:
    x = dual()
    y = clone(x)
    mul_(y, real(2.0))
    check(x, VALUES, TANGENT)
    check(y, 2 * VALUES, 2 * TANGENT)


# -- writes ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
class TestWrites:
    def test_a_write_changes_the_tangent(self) -> None:
        x = dual()
        assert mul_(x, real(3.0)) is x
        check(x, 3 * VALUES, 3 * TANGENT)
        add_(x, dual(VALUES, VALUES))
        check(x, 4 * VALUES, 3 * TANGENT + VALUES)
        mul_(x, x)
        check(x, 16 * VALUES**2, 8 * VALUES * (3 * TANGENT + VALUES))

    @pytest.mark.parametrize("read", [lambda x: x, lambda x: view(x, [3]), exp])
    def test_a_write_reads_what_was_there_before(self, read: Any) -> None:
        """Also where it reads the memory that it writes."""
        x, y = dual(), clone(dual())
        expected = unpack_dual(mul(y, read(y)))
        check(mul_(x, read(x)), expected.primal.array, expected.tangent.array)

    def test_a_plain_tensor_becomes_dual_by_a_write(self) -> None:
        y = real([1.0, 1.0, 1.0])
        mul_(y, dual())
        check(y, VALUES, TANGENT)
        zero_(y)
        check(y, np.zeros(3), np.zeros(3))

    def test_the_base_of_a_view_becomes_dual_with_it(self) -> None:
        base = real([[1.0, 2.0], [3.0, 4.0]])
        row, other = select(base, 0, 0), select(base, 0, 1)
        add_(row, dual([10.0, 20.0], [5.0, 6.0]))
        check(base, [[11.0, 22.0], [3.0, 4.0]], [[5.0, 6.0], [0.0, 0.0]])
        check(row, [11.0, 22.0], [5.0, 6.0])
        check(other, [3.0, 4.0], [0.0, 0.0])
        mul_(base, real(2.0))
        check(row, [22.0, 44.0], [10.0, 12.0])
        add_(other, dual([1.0, 1.0], [7.0, 8.0]))
        check(base, [[22.0, 44.0], [7.0, 9.0]], [[10.0, 12.0], [7.0, 8.0]])

    def test_a_view_of_a_dual_tensor_is_written_with_it(self) -> None:
        x = dual([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]])
        mul_(select(x, 1, 0), real(5.0))
        check(x, [[5.0, 2.0], [15.0, 4.0]], [[5.0, 1.0], [5.0, 1.0]])

    def test_a_tangent_laid_out_otherwise_follows_its_primal(self) -> None:
        values = np.arange(6.0).reshape(2, 3)
        turned = ops.aten.as_strided.default(real(values), [2, 3], [1, 2], 0)
        x = make_dual(real(values), turned)
        mul_(select(x, 0, 1), real(2.0))
        expected = np.array(turned.array)
        expected[1] *= 2
        check(x, values * [[1.0], [2.0]], expected)

    def test_a_copy_takes_the_tangent_of_its_source(self) -> None:
        y = real(np.zeros(3))
        copy_(y, dual())
        check(y, VALUES, TANGENT)
        copy_(y, real(np.ones(3)))
        check(y, np.ones(3), np.zeros(3))

    def test_the_version_counts_writes(self) -> None:
        x = dual()
        before = x._version
        mul_(x, real(3.0))
        assert x._version == before + 1


# -- graphs ----------------------------------------------------------------------------------------


def test_tangents_are_recorded() -> None:
    x, v = real(VALUES, True), real(TANGENT, True)
    with dual_level():
        y = mul(mul(make_dual(x, v), make_dual(x, v)), x)
        tangent = unpack_dual(y).tangent
    total(tangent).backward()
    close(x.grad, 6 * VALUES * TANGENT - 2 * VALUES * TANGENT)
    close(v.grad, 2 * VALUES**2)


def test_gradients_of_dual_tensors_are_dual() -> None:
    x = real(VALUES, True)
    with dual_level():
        made = make_dual(x, real(TANGENT))
        y = total(mul(mul(made, made), made))
        (found,) = autograd.grad(y, x)
        check(found, 3 * VALUES**2, 6 * VALUES * TANGENT)


def test_no_grad_stops_graphs_and_not_tangents() -> None:
    x = real(VALUES, True)
    with dual_level(), autograd.no_grad():
        y = mul(make_dual(x, real(TANGENT)), x)
        check(y, VALUES**2, VALUES * TANGENT)
        assert not unpack_dual(y).tangent.requires_grad
        assert not y.requires_grad


# -- operators of users ----------------------------------------------------------------------------


@pytest.fixture
def lib() -> Iterator[Library]:
    made = Library("dual_operators", "FRAGMENT")
    yield made
    made._destroy()


def cube_in(lib: Library, backward: Any) -> Any:
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: mul(x, mul(x, x)), "CPU")
    register_autograd(
        "dual_operators::cube",
        backward,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        lib=lib,
    )
    return ops.dual_operators.cube.default


def right(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return mul(grad, mul(real(3.0), mul(x, x)))


def test_a_registered_backward_is_transposed(lib: Library) -> None:
    cube = cube_in(lib, right)
    with dual_level():
        check(cube(dual()), VALUES**3, 3 * VALUES**2 * TANGENT)
    _, second = jvp(
        lambda x: jvp(cube, (x,), (real(TANGENT),))[1], (real(VALUES),), (real(TANGENT),)
    )
    close(second, 6 * VALUES * TANGENT**2)


def test_the_transposed_backward_works_for_each_sample_and_is_recorded(lib: Library) -> None:
    cube = cube_in(lib, right)
    x = real(VALUES, True)
    _, tangent = jvp(cube, (x,), (real(TANGENT),))
    total(tangent).backward()
    close(x.grad, 6 * VALUES * TANGENT)


def test_a_backward_that_is_not_linear_in_its_gradient_is_refused(lib: Library) -> None:
    cube = cube_in(lib, lambda ctx, grad: real(grad.array * 2))
    with (
        dual_level(),
        pytest.raises(
            NotImplementedError, match=r"its backward \(.*not differentiable in the grad"
        ),
    ):
        cube(dual())


def test_a_backward_that_returns_none_gives_zeros(lib: Library) -> None:
    cube = cube_in(lib, lambda ctx, grad: None)
    with dual_level():
        check(cube(dual()), VALUES**3, np.zeros(3))


def test_operators_of_several_tensors_are_transposed(lib: Library) -> None:
    lib.define("both(Tensor[] xs, Tensor y) -> (Tensor, Tensor[])")
    lib.impl("both", lambda xs, y: (mul(xs[0], y), [mul(each, real(2.0)) for each in xs]), "CPU")

    def backward(ctx: Any, of_product: Any, of_list: Any) -> Any:
        first, _, y = ctx.saved_tensors
        doubled = [mul(each, real(2.0)) for each in of_list]
        return [add(mul(of_product, y), doubled[0]), doubled[1]], mul(of_product, first)

    register_autograd(
        "dual_operators::both",
        backward,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[0], inputs[1]),
        lib=lib,
    )
    both = ops.dual_operators.both.default
    with dual_level():
        product, (first, second) = both([dual(), real(VALUES)], dual(VALUES + 1, VALUES))
        check(product, VALUES * (VALUES + 1), TANGENT * (VALUES + 1) + VALUES**2)
        check(first, 2 * VALUES, 2 * TANGENT)
        check(second, 2 * VALUES, np.zeros(3))


def test_an_operator_without_derivative_is_refused_with_a_tangent(lib: Library) -> None:
    lib.define("opaque(Tensor x) -> Tensor")
    lib.impl("opaque", lambda x: mul(x, x), "CPU")
    opaque = ops.dual_operators.opaque.default
    with dual_level():
        close(opaque(real(VALUES)), VALUES**2)
        with pytest.raises(NotImplementedError, match="dual_operators::opaque that does not supp"):
            opaque(dual())


def test_a_write_without_derivative_is_refused_with_a_tangent(lib: Library) -> None:
    lib.define("grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("grow_", add_, "CPU")
    grow_ = ops.dual_operators.grow_.default
    with dual_level():
        x = dual()
        with pytest.raises(NotImplementedError, match="it has not been implemented yet"):
            grow_(x, real(VALUES))
        check(x, VALUES, TANGENT)
        y = real(VALUES)
        grow_(y, real(VALUES))
        close(y, 2 * VALUES)


def test_writes_to_several_tensors_are_refused_with_a_tangent(lib: Library) -> None:
    lib.define("grow_(Tensor(a!) x, Tensor(b!) y) -> ()")
    lib.impl("grow_", lambda x, y: (add_(x, y), add_(y, x), None)[2], "CPU")
    with dual_level(), pytest.raises(NotImplementedError, match="it writes to several tensors"):
        ops.dual_operators.grow_.default(dual(), real(VALUES))


def test_an_operator_that_is_made_of_others_needs_no_formula(lib: Library) -> None:
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: mul(x, x), "CompositeImplicitAutograd")
    with dual_level():
        check(ops.dual_operators.twice.default(dual()), VALUES**2, 2 * VALUES * TANGENT)


# -- Functions -------------------------------------------------------------------------------------


class Cube(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return mul(x, mul(x, x))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return right(ctx, grad)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return right(ctx, tangent)


def test_a_function_has_its_own_tangent() -> None:
    x = real(VALUES, True)
    with dual_level():
        y = Cube.apply(make_dual(x, real(TANGENT)))
        check(y, VALUES**3, 3 * VALUES**2 * TANGENT)
        assert y.requires_grad
        total(unpack_dual(y).primal).backward()
        check(Cube.apply(real(VALUES)), VALUES**3, None)
    close(x.grad, 3 * VALUES**2)
    close(Cube.apply(real(VALUES)), VALUES**3)


class CubeOfOld(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return mul(x, mul(x, x))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return right(ctx, grad)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return right(ctx, tangent)


def test_a_function_without_setup_context_has_tangents_and_first_derivatives() -> None:
    x = real(VALUES, True)
    with dual_level():
        y = CubeOfOld.apply(make_dual(x, real(TANGENT)))
        check(y, VALUES**3, 3 * VALUES**2 * TANGENT)
        total(unpack_dual(y).primal).backward()
        close(x.grad, 3 * VALUES**2)
        with pytest.raises(RuntimeError, match=r"For the gradient of the primal: unpack_dual"):
            total(y).backward()


def test_duals_in_a_batch_and_batches_of_duals() -> None:
    rows, tangents = np.stack([VALUES, TANGENT]), np.stack([TANGENT, VALUES])
    with dual_level():
        found = vmap(lambda x: mul(x, x))(make_dual(real(rows), real(tangents)))
        check(found, rows**2, 2 * rows * tangents)

        def push(x: Any, v: Any) -> Any:
            return unpack_dual(exp(make_dual(x, v))).tangent

        close(vmap(push)(real(rows), real(tangents)), np.exp(rows) * tangents)
        close(vmap(push, in_dims=(None, 0))(real(VALUES), real(rows)), np.exp(VALUES) * rows)


def test_a_sample_may_write_to_the_tangent_of_what_is_shared() -> None:
    rows = np.stack([VALUES, TANGENT])

    def function(v: Any) -> Any:
        with dual_level():
            x = make_dual(real(VALUES), v)
            mul_(select(x, 0, 0), real(2.0))
            return unpack_dual(x).tangent

    close(vmap(function)(real(rows)), rows * [2.0, 1.0, 1.0])


@needs_base
def test_each_result_of_a_list_has_its_tangent() -> None:
    x, t = real([1.0, 2.0, 3.0]), real([10.0, 20.0, 30.0])
    for split in (ops.aten.unsafe_split.Tensor, ops.aten.split_copy.Tensor):
        parts, tangents = jvp(partial(split, split_size=2), (x,), (t,))
        assert [each.array.tolist() for each in parts] == [[1.0, 2.0], [3.0]]
        assert [each.array.tolist() for each in tangents] == [[10.0, 20.0], [30.0]]
