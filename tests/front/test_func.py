"""Transforms of functions: arguments, nesting, what is and is not recorded, errors; modules as
functions.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.library
from dovetail import nn
from dovetail.autograd import Function
from dovetail.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

X = dt.tensor([0.3, 0.7, -0.2], dtype=dt.float64)


def cube(x: Any) -> Any:
    return (x**3).sum()


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), np.asarray(expected), rtol=1e-10, atol=1e-12
    )


# -- grad ------------------------------------------------------------------------------------------


def test_grad_is_the_gradient_and_leaves_the_argument_alone() -> None:
    result = grad(cube)(X)
    close(result, 3 * X.cpu().numpy() ** 2)
    assert not result.requires_grad
    assert not X.requires_grad


def test_arguments_may_be_nested() -> None:
    Pair = namedtuple("Pair", "a b")
    given = {"pair": Pair(X, [X * 2]), "n": (X,)}
    result = grad(lambda d: (d["pair"].a * d["pair"].b[0]).sum() + d["n"][0].sum())(given)
    assert isinstance(result["pair"], Pair)
    close(result["pair"].b[0], X.cpu().numpy())
    close(result["n"][0], np.ones(3))


def test_argnums_select_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return (x * y * y).sum()

    close(grad(f, argnums=-1)(X, X), 2 * X.cpu().numpy() ** 2)
    dx, dy = grad(f, argnums=(0, 1))(X, X + 1)
    close(dx, (X.cpu().numpy() + 1) ** 2)
    close(dy, 2 * X.cpu().numpy() * (X.cpu().numpy() + 1))


def test_an_unused_argument_has_a_gradient_of_zeros() -> None:
    _, unused = grad(lambda x, y: x.sum(), argnums=(0, 1))(X, X)
    assert unused.tolist() == [0.0, 0.0, 0.0]


def test_values_and_aux_are_returned_without_graph() -> None:
    gradient, (value, aux) = grad_and_value(
        lambda x: (cube(x), {"double": x * 2, "n": [x.detach()]}), has_aux=True
    )(X)
    close(gradient, 3 * X.cpu().numpy() ** 2)
    close(value, (X.cpu().numpy() ** 3).sum())
    close(aux["n"][0], X.cpu().numpy())
    assert not any([value.requires_grad, aux["double"].requires_grad])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: grad(lambda x: x)(X), "to return a scalar Tensor, got tensor with 1 dims"),
        (lambda: grad(lambda x: 1.0)(X), "to return a Tensor, got <class 'float'>"),
        (
            lambda: grad(cube, has_aux=True)(X),
            r"should be a tuple: \(output, aux\) if has_aux is True",
        ),
        (lambda: grad(cube, argnums=1)(X), "Got argnum=1, but only 1 positional inputs"),
        (
            lambda: grad(cube, argnums="x")(X),
            r"argnums must be int or Tuple\[int, ...\], got: <class 'str'>",
        ),  # type: ignore[arg-type]
        (lambda: grad(cube, argnums=())(X), "argnums must be non-empty"),
        (lambda: grad(cube, argnums=(0, 0))(X), "argnums elements must be unique"),
        (
            lambda: grad(cube)(X.long()),
            "only Tensors of floating point dtype can require gradients",
        ),
        (
            lambda: grad(lambda x: (x * 1j).sum())(X),
            "grad can be implicitly created only for real scalar outputs",
        ),
        (
            lambda: grad(lambda x: (x.sum().backward(), x.sum())[1])(X),
            r"backward\(\) called inside a functorch tr",
        ),
        (
            lambda: grad(lambda x: x.clone().requires_grad_().sum())(X),
            r"call Tensor.requires_grad_\(\)",
        ),
        (
            lambda: grad(lambda x: x.mul_(2).sum())(X),
            "a leaf Variable that requires grad is being used in an in-pl",
        ),
        (lambda: jvp(cube, X, X), "Expected primals to be a tuple"),
        (lambda: jvp(cube, (X,), (X, X)), "to have the same python structure"),
        (lambda: jvp(cube, (), ()), "Expected primals to contain at least one Tensor"),
        (
            lambda: jvp(cube, (1.0,), (X,)),
            "Expected primals to only contain Tensors, got <class 'float'>",
        ),
        (lambda: jvp(cube, (X,), (X[:2],)), "different size than that of the original Tensor"),
        (
            lambda: jvp(lambda x: 1.0, (X,), (X,)),
            "to return only tensors, got unsupported type <class 'float'>",
        ),
        (
            lambda: jvp(lambda x: dt.ones(1), (X,), (X,), strict=True),
            "The output of f is independent of the inputs",
        ),
        (lambda: vjp(cube, X)[1]((X, X)), r"pytree structure of cotangents.*\(\*, \*\).*: \*"),
        (lambda: vjp(lambda x: None, X), "non-empty output"),
        (lambda: vjp(dt.sin, X)[1](X[:2]), "Mismatch in shape"),
        (
            lambda: jacrev(lambda x: x)(X * 1j),
            "Expected all inputs to be real but received complex",
        ),
        (
            lambda: jacfwd(lambda x: x)(X * 1j),
            "Expected all inputs to be real but received complex",
        ),
        (
            lambda: linearize(dt.sin, X)[1](X[:2]),
            r"tangent:0 with shape .*\[2\].* doesn't match the shape",
        ),
        (
            lambda: linearize(dt.sin, X)[1](X.float()),
            "tangent:0 with dtype .* doesn't match the dtype",
        ),
        (lambda: linearize(dt.sin, X)[1](X, X), "to have the same argspec as the primals"),
    ],
)
def test_misuse_is_named(make: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        make()


def test_only_tensors_are_differentiated_by() -> None:
    with pytest.raises(
        ValueError, match="Thing passed to transform API must be Tensor, got <class 'float'>"
    ):
        grad(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
        jacrev(cube, chunk_size=0)


# -- what is recorded ------------------------------------------------------------------------------


def test_gradients_are_recorded_for_what_requires_grad_outside() -> None:
    p = X.clone().requires_grad_()
    result = grad(lambda x: (x * x * p).sum())(X)
    assert result.requires_grad
    (second,) = dt.autograd.grad(result.sum(), p)
    close(second, 2 * X.cpu().numpy())


def test_the_argument_may_require_grad_itself() -> None:
    p = X.clone().requires_grad_()
    (second,) = dt.autograd.grad(grad(cube)(p).sum(), p)
    close(second, 6 * X.cpu().numpy())
    assert p.grad is None


def test_no_grad_outside_is_for_what_is_outside() -> None:
    p = X.clone().requires_grad_()
    with dt.no_grad():
        result = grad(cube)(p)
    close(result, 3 * X.cpu().numpy() ** 2)
    assert not result.requires_grad


def test_no_grad_inside_is_respected() -> None:
    def f(x: Any) -> Any:
        with dt.no_grad():
            square = x * x
        return (square * x).sum()

    close(grad(f)(X), X.cpu().numpy() ** 2)


def test_grad_mode_is_as_it_was_after_an_error() -> None:
    with dt.no_grad():
        with pytest.raises(ZeroDivisionError):
            grad(lambda x: 1 // 0)(X)
        assert not dt.is_grad_enabled()


def test_a_vjp_may_be_asked_again_and_differentiated() -> None:
    out, pull = vjp(dt.sin, X)
    assert not out.requires_grad
    seed = X.clone().requires_grad_()
    close(pull(X)[0], np.cos(X.cpu().numpy()) * X.cpu().numpy())
    close(dt.autograd.grad(pull(seed)[0].sum(), seed)[0], np.cos(X.cpu().numpy()))
    assert not pull(X)[0].requires_grad


# -- other transforms ------------------------------------------------------------------------------


def test_jvp_returns_outputs_as_they_are_nested() -> None:
    out, tangent, aux = jvp(
        lambda x, y: ({"a": x * y}, x), (X, X), (X * 0 + 1, X * 0), has_aux=True
    )
    close(out["a"], X.cpu().numpy() ** 2)
    close(tangent["a"], X.cpu().numpy())
    close(aux, X.cpu().numpy())


def test_linearize_calls_the_function_once() -> None:
    calls = []

    def f(x: Any, y: Any) -> Any:
        calls.append(1)
        return dt.sin(x) * y, y.sum()

    out, push = linearize(f, X, X + 1)
    first = push(X, X * 0)
    second = push(X * 0, X)
    assert len(calls) == 1
    close(out[0], np.sin(X.cpu().numpy()) * (X.cpu().numpy() + 1))
    close(first[0], np.cos(X.cpu().numpy()) * X.cpu().numpy() * (X.cpu().numpy() + 1))
    close(second[0], np.sin(X.cpu().numpy()) * X.cpu().numpy())
    close(second[1], X.cpu().numpy().sum())
    assert not first[0].requires_grad


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_are_nested_as_outputs_and_arguments(jacobian: Any) -> None:
    found = jacobian(lambda x, y: {"a": x * y, "b": (y**2).sum()}, argnums=(0, 1))(X, X + 1)
    close(found["a"][0], np.diag(X.cpu().numpy() + 1))
    close(found["a"][1], np.diag(X.cpu().numpy()))
    close(found["b"][0], np.zeros(3))
    close(found["b"][1], 2 * (X.cpu().numpy() + 1))


def test_a_jacobian_may_be_computed_in_chunks() -> None:
    close(jacrev(dt.sin, chunk_size=2)(X), np.diag(np.cos(X.cpu().numpy())))


def test_a_hessian_of_several_arguments() -> None:
    found = hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(X, X + 1)
    close(found[0][0], np.diag(2 * (X.cpu().numpy() + 1)))
    close(found[0][1], np.diag(2 * X.cpu().numpy()))
    close(found[1][1], np.zeros((3, 3)))


def test_results_of_nested_transforms_do_not_require_grad() -> None:
    for result in (hessian(cube)(X), jacfwd(lambda x: x.cumsum(0))(X), vmap(grad(dt.sin))(X)):
        assert not result.requires_grad


def test_a_gradient_by_something_captured_leaves_no_graph_outside() -> None:
    def gradient(x: Any) -> Any:
        return grad(lambda y: (x * y * y).sum())(X)

    for result in (
        *jvp(gradient, (X,), (X,)),
        jacfwd(gradient)(X),
        vmap(gradient)(X),
        vjp(gradient, X)[0],
    ):
        assert not result.requires_grad
    for result in vjp(lambda x: jvp(gradient, (x,), (x,))[1], X)[1](X):
        assert not result.requires_grad


def test_perturbations_of_different_transforms_are_not_confused() -> None:
    close(grad(lambda x: x * grad(lambda y: x + y)(dt.tensor(1.0)))(dt.tensor(1.0)), 1.0)

    def inner(x: Any) -> Any:
        return x * jvp(lambda y: x + y, (dt.tensor(1.0),), (dt.tensor(1.0),))[1]

    close(jvp(inner, (dt.tensor(1.0),), (dt.tensor(1.0),))[1], 1.0)


def slope(f: Any) -> Any:
    """Return the derivative of a function of a number, in forward mode."""
    return lambda x: jvp(f, (x,), (dt.ones_like(x),))[1]


def test_derivatives_of_every_order() -> None:
    f: Any = dt.sin
    expected = [np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin]
    for index, value in enumerate(expected):
        f = grad(f) if index % 2 else slope(f)
        close(f(dt.tensor(0.4, dtype=dt.float64)), value(0.4))


def test_gradients_per_sample_of_a_model() -> None:
    dt.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    inputs, targets = dt.randn(5, 3), dt.randn(5, 1)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return ((functional_call(model, parameters, (x,)) - y) ** 2).sum()

    together = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)
    for index in range(5):
        model.zero_grad()
        ((model(inputs[index]) - targets[index]) ** 2).sum().backward()
        for name, parameter in model.named_parameters():
            assert dt.allclose(together[name][index], parameter.grad, atol=1e-5)


# -- operators and Functions of others -------------------------------------------------------------


@pytest.fixture
def sine() -> Iterator[Any]:
    @dovetail.library.custom_op("functest::sine", mutates_args=())
    def made(x: dt.Tensor) -> dt.Tensor:
        return dt.tensor(np.sin(x.detach().cpu().numpy()))

    made.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    made.register_vmap(lambda info, in_dims, x: (made(x), in_dims[0]))
    yield made
    made._destroy() if hasattr(made, "_destroy") else None


def test_a_custom_op_takes_part_in_every_transform(sine: Any) -> None:
    expected = -np.sin(X.cpu().numpy())
    close(vmap(grad(grad(sine)))(X), expected)
    close(jacfwd(grad(lambda x: sine(x).sum()))(X), np.diag(expected))
    close(hessian(lambda x: sine(x).sum())(X), np.diag(expected))
    close(grad(lambda x: jvp(sine, (x,), (dt.ones_like(x),))[1].sum())(X), expected)


def test_a_function_takes_part_in_every_transform() -> None:
    class Sine(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0].cos()

    f = Sine.apply
    expected = -np.sin(X.cpu().numpy())
    close(vmap(grad(grad(f)))(X), expected)
    close(grad(lambda x: jvp(f, (x,), (dt.ones_like(x),))[1].sum())(X), expected)
    close(jvp(grad(lambda x: f(x).sum()), (X,), (dt.ones_like(X),))[1], expected)


def test_a_function_without_setup_context_takes_no_part_in_nested_transforms() -> None:
    class Old(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2

    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        jvp(grad(lambda x: Old.apply(x).sum()), (X,), (X,))


# -- modules ---------------------------------------------------------------------------------------


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = self.a
        self.register_buffer("count", dt.zeros(()))

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        self.count.add_(1)
        return self.b(self.a(x)) * scale


def test_a_module_is_called_with_other_tensors_and_is_then_as_it_was() -> None:
    model, count = Tied(), dt.zeros(())
    own = model.a.weight
    result = functional_call(
        model, {"a.weight": dt.eye(2) * 3, "count": count}, (dt.ones(2),), {"scale": 2.0}
    )
    assert result.tolist() == [18.0, 18.0]
    assert (count.item(), model.count.item()) == (1.0, 0.0)
    assert model.a.weight is own


def test_a_module_is_as_it_was_after_an_error() -> None:
    model = Tied()
    own = model.a.weight
    with pytest.raises(RuntimeError):
        functional_call(model, {"a.weight": dt.eye(2)}, (dt.ones(3),))
    assert model.a.weight is own


@pytest.mark.parametrize(
    ("tensors", "options", "error", "words"),
    [
        (
            ({"a.weight": 1}, {"a.weight": 2}),
            {},
            ValueError,
            r"\['a.weight'\] appeared in multiple dictionaries",
        ),
        (
            {"a.weight": 1, "b.weight": 2},
            {},
            ValueError,
            "multiple values for keys .*'b.weight'.*tied",
        ),
        (3, {}, ValueError, "to be a dict, or a list/tuple of dicts, but got <class 'int'>"),
        ({"a.weight": 1}, {"strict": True}, RuntimeError, r"Missing key\(s\): 'count'"),
        (
            {"a.weight": 1, "count": 1, "c": 1},
            {"strict": True},
            RuntimeError,
            r"Unexpected key\(s\): 'c'",
        ),
    ],
)
def test_names_of_parameters_are_checked(
    tensors: Any, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        functional_call(Tied(), tensors, (dt.ones(2),), **options)


def test_an_ensemble_is_called_at_once() -> None:
    dt.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (4, 2, 3)
    assert parameters["weight"].requires_grad and parameters["weight"].is_leaf
    x = dt.randn(3)
    together = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    assert dt.allclose(together, dt.stack([model(x) for model in models]), atol=1e-6)


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([], "Expected at least one model, got 0"),
        ([nn.Linear(1, 1), nn.Linear(1, 1).eval()], "to have the same training/eval mode"),
        ([nn.Linear(1, 1), nn.ReLU()], "to be of the same class"),
    ],
)
def test_models_of_an_ensemble_are_alike(models: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        stack_module_state(models)
