"""What a call checks and records: refused arguments, writes, lists, Functions with defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_library import close, needs_base, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function
from dovetail_dispatcher import TorchDispatchMode, ops
from dovetail_kernel import tensor_class

aten: Any = ops.aten
mul, add, exp = aten.mul.Tensor, aten.add.Tensor, aten.exp.default
total, clone, select = aten.sum.default, aten.clone.default, aten.select.int
# -- arguments -------------------------------------------------------------------------------------


@needs_base
def test_an_argument_without_derivative_may_not_require_grad() -> None:
    x, target = real([0.3, 0.6], True), real([1.0, 0.0])
    weight = real([1.0, 2.0], True)
    message = r"'binary_cross_entropy' is not differentiable with respect to argument 'weight'"
    with pytest.raises(RuntimeError, match=message):
        aten.binary_cross_entropy(x, target, weight)
    with autograd.no_grad():
        aten.binary_cross_entropy(x, target, weight)
    aten.binary_cross_entropy(x, target, aten.detach(weight)).backward()
    close(x.grad, [-1 / 0.3 / 2, 2 / 0.4 / 2])


@needs_base
@pytest.mark.parametrize("kind", ["leaf", "view", "computed"])
def test_a_write_whose_result_has_no_derivative_is_checked(kind: str) -> None:
    x = real([7.0, 9.0], True)
    if kind == "computed":
        hidden = mul(x, real(1.0))
        assert aten.floor_divide_.Tensor(hidden, real(2.0)) is hidden
        close(hidden, [3.0, 4.0])
        return
    written = x if kind == "leaf" else select(x, 0, 0)
    with pytest.raises(RuntimeError, match=r"leaf Variable that requires grad is being used"):
        aten.floor_divide_.Tensor(written, real(2.0))
    close(x, [7.0, 9.0])


@needs_base
def test_lists_of_tensors_have_an_edge_each() -> None:
    x, y = real([[1.0, 2.0]], True), real([[3.0, 4.0]])
    joined = aten.cat([x, y, mul(x, x)], 0)
    names = [each and each.name().rpartition("::")[2] for each, _ in joined.grad_fn.next_functions]
    assert names == ["AccumulateGrad", None, "MulBackward0"]
    mul(joined, real([[1.0, 2.0], [0.0, 0.0], [10.0, 100.0]])).backward(real(np.ones((3, 2))))
    close(x.grad, [[1 + 20.0, 2 + 400.0]])
    assert not aten.cat([y, y], 0).requires_grad


@needs_base
def test_saved_lists_notice_writes_and_take_hooks() -> None:
    seen: list[Any] = []
    x, index = real([[1.0, 2.0], [3.0, 4.0]], True), tensor([1, 0], dtype=np.int64)
    with autograd.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        picked = aten.index.Tensor(x, [index])
    assert any(each is index for each in seen)
    total(mul(picked, real([[1.0, 2.0], [3.0, 4.0]]))).backward()
    close(x.grad, [[3.0, 4.0], [1.0, 2.0]])
    hidden = aten.index.Tensor(x, [index])
    aten.add_.Tensor(index, tensor([0, 1], dtype=np.int64))
    with pytest.raises(
        RuntimeError, match=r"modified by an inplace .* \[dovetail.LongTensor \[2\]\]"
    ):
        total(hidden).backward()


def test_numbers_are_no_inputs() -> None:
    if not hasattr(ops.aten, "mm"):
        pytest.skip("the small library takes tensors only")
    x = real([1.0, 2.0], True)
    found = mul(x, 3.0)
    assert found.grad_fn.next_functions[1] == (None, 0)
    total(found).backward()
    close(x.grad, [3.0, 3.0])


# -- raw saved values ------------------------------------------------------------------------------


def test_raw_saved_values_refuse_hooks_where_there_is_no_tensor() -> None:
    x = real([1.0], True)
    node = mul(x, real([2.0])).grad_fn
    with pytest.raises(RuntimeError, match="on a saved tensor with value None is forbidden"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    loss = total(mul(x, x))
    node = loss.grad_fn.next_functions[0][0]
    raw = node._raw_saved_self
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_a_saved_result_takes_hooks() -> None:
    x = real([0.5], True)
    y = exp(x)
    packed = []
    y.grad_fn._raw_saved_result.register_hooks(
        lambda t: (packed.append(t), t.array)[1], lambda array: real(10 * array)
    )
    assert len(packed) == 1
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    total(y).backward()
    close(x.grad, 10 * np.exp([0.5]))


def test_a_saved_tensor_that_was_detached_in_place_is_found() -> None:
    x = real([1.0], True)
    hidden = mul(x, real([2.0]))
    square = mul(hidden, hidden)
    hidden.detach_()
    with pytest.raises(RuntimeError, match="saved tensor that has been detached in-place"):
        total(square).backward()


# -- Functions -------------------------------------------------------------------------------------


def test_arguments_of_a_function_may_be_named_and_have_defaults() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float = 2.0, *, power: int = 1) -> Any:
            return mul(x, real(factor**power))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[1] ** inputs[2]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return mul(grad, real(ctx.factor)), None, None

    for given, expected in (
        (((), {}), 2.0),
        (((3.0,), {}), 3.0),
        (((), {"factor": 3.0, "power": 2}), 9.0),
    ):
        x = real([1.0], True)
        total(Scale.apply(x, *given[0], **given[1])).backward()
        close(x.grad, [expected])


def test_a_function_that_takes_its_context_may_have_named_arguments() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float = 2.0) -> Any:
            ctx.factor = factor
            return mul(x, real(factor))

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return mul(grad, real(ctx.factor)), None

    x = real([1.0], True)
    total(Scale.apply(x, factor=5.0)).backward()
    close(x.grad, [5.0])


def test_methods_of_a_function_may_be_replaced() -> None:
    class Base(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return mul(x, x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    class Derived(Base):
        pass

    def derivative() -> Any:
        x = real([1.0], True)
        total(Derived.apply(x)).backward()
        return x.grad.array.tolist()

    assert derivative() == [1.0]
    del Base.backward
    Base.vjp = staticmethod(lambda ctx, grad: mul(grad, real(7.0)))
    assert derivative() == [7.0]
    del Base.vjp
    Base.backward = staticmethod(lambda ctx, grad: mul(grad, real(3.0)))
    assert derivative() == [3.0]


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(NotImplementedError, match="setup_context is not implemented"):
        Function.setup_context(None, (), None)
    with pytest.raises(NotImplementedError, match=r"To use autograd.Function with vmap, you must"):
        Function.vmap(None, ())


@pytest.mark.parametrize("count", [1, 3])
def test_a_function_says_how_many_gradients_it_returned(count: int) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return mul(x, y)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return (grad,) * count

    message = rf"incorrect number of gradients \(expected 2, got {count}\)"
    with pytest.raises(RuntimeError, match=message):
        total(Wrong.apply(real([1.0], True), real([1.0], True))).backward()


# -- modes and wrappers ----------------------------------------------------------------------------


class Logging(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_the_calls_of_a_backward() -> None:
    x = real([2.0], True)
    y = total(mul(x, x))
    with Logging() as mode:
        y.backward()
    assert mode.names.count("aten::mul.Tensor") == 2
    close(x.grad, [4.0])


def test_a_mode_around_a_transform_sees_physical_calls() -> None:
    from dovetail_autograd.transforms import grad, vmap

    with Logging() as mode:
        found = vmap(grad(lambda x: total(mul(x, x))))(real([[1.0, 2.0], [3.0, 4.0]]))
    close(found, [[2.0, 4.0], [6.0, 8.0]])
    assert "aten::mul.Tensor" in mode.names

    def inside(x: Any) -> Any:
        with Logging() as mode:
            y = mul(x, x)
        assert "aten::mul.Tensor" in mode.names
        return y

    close(vmap(inside)(real([1.0, 2.0])), [1.0, 4.0])
    close(grad(lambda x: total(inside(x)))(real([1.0, 2.0])), [2.0, 4.0])


needs_wrappers = pytest.mark.skipif(
    not hasattr(tensor_class(), "_make_wrapper_subclass"), reason="needs wrapper subclasses"
)


def wrapper_class() -> Any:
    base: Any = tensor_class()

    class Wrapper(base):
        """A tensor that holds another one, and hands operators on to it."""

        @staticmethod
        def __new__(cls: Any, held: Any) -> Any:
            made = base._make_wrapper_subclass(
                cls, tuple(held.shape), dtype=held.dtype, device=held.device
            )
            made.held = held
            return made

        def __init__(self, *_: Any) -> None:
            pass

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return wrapped(func(*bare(list(args)), **(kwargs or {})))

    def bare(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [bare(each) for each in value]
        return bare(value.held) if isinstance(value, Wrapper) else value

    def wrapped(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [wrapped(each) for each in value]
        return Wrapper(value) if isinstance(value, base) else value

    return Wrapper


@needs_wrappers
def test_wrappers_are_captured_by_transforms() -> None:
    from dovetail_autograd.transforms import grad, jvp, vmap

    wrapper = wrapper_class()
    weight, x = real([2.0, 3.0]), real([5.0, 7.0])
    captured = wrapper(weight)

    def function(x: Any) -> Any:
        return mul(mul(x, captured), x)

    for transform in (
        lambda f: vmap(f)(real([[1.0, 2.0], [3.0, 4.0]])),
        lambda f: grad(lambda x: total(f(x)))(x),
        lambda f: jvp(f, (x,), (real([1.0, 10.0]),))[1],
        lambda f: vmap(grad(lambda x: total(f(x))))(real([[1.0, 2.0], [3.0, 4.0]])),
        lambda f: grad(lambda x: total(jvp(f, (x,), (x,))[1]))(x),
    ):
        expected = transform(lambda x: mul(mul(x, weight), x))
        found = transform(function)
        assert isinstance(found, wrapper)
        close(found.held, expected.array)


@needs_wrappers
def test_wrappers_are_given_to_transforms() -> None:
    from dovetail_autograd.transforms import grad, jvp, vmap

    wrapper = wrapper_class()
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = vmap(lambda x: mul(x, x))(wrapper(real(rows)))
    assert isinstance(found, wrapper)
    close(found.held, rows**2)
    found = grad(lambda x: total(mul(x, x)))(wrapper(real(rows)))
    close(found.held, 2 * rows)
    _, found = jvp(lambda x: mul(x, x), (wrapper(real(rows)),), (wrapper(real(rows)),))
    close(found.held, 2 * rows**2)
    leaf = wrapper(real(rows))
    leaf.requires_grad = True
    total(mul(leaf, leaf)).backward(wrapper(real(1.0)))
    close(leaf.grad.held, 2 * rows)
    total(mul(leaf, leaf)).backward(wrapper(real(1.0)))
    close(leaf.grad.held, 4 * rows)
