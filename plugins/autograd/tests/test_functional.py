"""`autograd.functional`: Jacobians, Hessians, products with them, strict checks, errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from small_library import close, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd.checking.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from dovetail_dispatcher import ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total = ops.aten.sum.default

VALUES = np.array([0.3, 0.7])
OTHERS = np.array([2.0, -1.0])
V, W = np.array([1.0, 3.0]), np.array([-2.0, 5.0])


def product(x: Any, y: Any) -> Any:
    return mul(mul(x, x), y)


def scalar(x: Any, y: Any) -> Any:
    return total(mul(mul(x, x), exp(y)))


X, Y = VALUES, OTHERS
BOTH = (real(X), real(Y))


# -- vjp and jvp -----------------------------------------------------------------------------------


def test_vjp_multiplies_from_the_left() -> None:
    output, (of_x, of_y) = vjp(product, BOTH, real(V))
    close(output, X * X * Y)
    close(of_x, V * 2 * X * Y)
    close(of_y, V * X * X)
    assert not output.requires_grad
    assert not of_x.requires_grad


def test_vjp_of_one_tensor_returns_one() -> None:
    output, found = vjp(lambda x: (mul(x, x), exp(x)), real(X), (real(V), real(W)))
    close(output[0], X * X)
    close(output[1], np.exp(X))
    close(found, V * 2 * X + W * np.exp(X))


def test_jvp_multiplies_from_the_right() -> None:
    output, found = jvp(product, BOTH, (real(V), real(W)))
    close(output, X * X * Y)
    close(found, 2 * X * Y * V + X * X * W)
    output, (first, second) = jvp(lambda x: (mul(x, x), exp(x)), real(X), real(V))
    close(first, 2 * X * V)
    close(second, np.exp(X) * V)


def test_v_is_one_for_a_single_element() -> None:
    _, found = vjp(lambda x: total(mul(x, x)), real(X))
    close(found, 2 * X)
    _, found = jvp(lambda x: mul(x, real(Y)), real([3.0]))
    close(found, Y)


# -- vhp and hvp -----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [vhp, hvp])
def test_products_with_the_hessian(function: Any) -> None:
    output, (of_x, of_y) = function(scalar, BOTH, (real(V), real(W)))
    close(output, (X * X * np.exp(Y)).sum())
    close(of_x, 2 * np.exp(Y) * V + 2 * X * np.exp(Y) * W)
    close(of_y, 2 * X * np.exp(Y) * V + X * X * np.exp(Y) * W)
    assert not of_x.requires_grad
    output, found = function(lambda x: total(mul(x, mul(x, x))), real(X), real(V))
    close(found, 6 * X * V)
    _, found = function(lambda x: total(mul(x, x)), real([3.0]))
    close(found, [2.0])


# -- whole matrices --------------------------------------------------------------------------------


FORMS = [{"vectorize": False}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_jacobian_has_a_block_per_output_and_input(form: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return product(x, y), total(mul(x, real([1.0, 2.0])))

    ((xx, xy), (sx, sy)) = jacobian(function, BOTH, **form)
    close(xx, np.diag(2 * X * Y))
    close(xy, np.diag(X * X))
    close(sx, [1.0, 2.0])
    close(sy, [0.0, 0.0])
    found = jacobian(lambda x: mul(x, x), real(X), **form)
    close(found, np.diag(2 * X))
    (found,) = jacobian(lambda x: mul(x, x), (real(X),), **form)
    close(found, np.diag(2 * X))
    (found,) = jacobian(lambda x: (mul(x, x),), real(X), **form)
    close(found, np.diag(2 * X))
    assert not found.requires_grad


@pytest.mark.parametrize("form", FORMS[:2], ids=str)
def test_a_jacobian_with_its_graph_is_differentiated_through_all_steps(form: Any) -> None:
    x = real(X, requires_grad=True)
    found = jacobian(lambda x: mul(mul(x, x), mul(x, x)), x, create_graph=True, **form)
    (gradient,) = autograd.grad([total(found)], [x])
    close(gradient, 12 * X * X)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_what_does_not_depend_on_an_input_has_zeros(form: Any) -> None:
    fixed = real([[1.0, 2.0, 3.0]])
    first, second = jacobian(lambda x: (fixed, mul(x, x)), real(X), **form)
    close(first, np.zeros((1, 3, 2)))
    close(second, np.diag(2 * X))
    close(jacobian(lambda x: fixed, real(X), **form), np.zeros((1, 3, 2)))


@pytest.mark.parametrize("form", FORMS[:2], ids=str)
def test_a_jacobian_of_nothing_is_empty(form: Any) -> None:
    if form["vectorize"] and not hasattr(ops.aten, "mm"):
        pytest.skip("rules of the small library need a sample")
    empty = real(np.ones((0, 2)))
    found = jacobian(lambda x: mul(empty, x), real(X), **form)
    assert tuple(found.shape) == (0, 2, 2)


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_hessian_has_a_block_per_pair_of_inputs(vectorize: bool, strategy: str) -> None:
    if strategy == "forward-mode" and not vectorize:
        with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
            hessian(scalar, BOTH, outer_jacobian_strategy=strategy)
        return
    if strategy == "forward-mode" and not hasattr(ops.aten, "mm"):
        pytest.skip("rules of the small library record what they compute")
    options: Any = {"vectorize": vectorize, "outer_jacobian_strategy": strategy}
    ((xx, xy), (yx, yy)) = hessian(scalar, BOTH, **options)
    close(xx, np.diag(2 * np.exp(Y)))
    close(xy, np.diag(2 * X * np.exp(Y)))
    close(yx, np.diag(2 * X * np.exp(Y)))
    close(yy, np.diag(X * X * np.exp(Y)))
    found = hessian(lambda x: mul(total(mul(x, x)), real([1.0])), real(X), **options)
    close(found, 2 * np.eye(2))
    assert not found.requires_grad


# -- graphs ----------------------------------------------------------------------------------------


CALLS: dict[str, Any] = {
    "vjp": lambda x, y, **more: vjp(product, (x, y), real(V), **more)[1][0],
    "jvp": lambda x, y, **more: jvp(product, (x, y), (real(V), real(W)), **more)[1],
    "vhp": lambda x, y, **more: vhp(scalar, (x, y), (real(V), real(W)), **more)[1][0],
    "hvp": lambda x, y, **more: hvp(scalar, (x, y), (real(V), real(W)), **more)[1][0],
    "jacobian": lambda x, y, **more: jacobian(product, (x, y), **more)[0],
    "hessian": lambda x, y, **more: hessian(scalar, (x, y), **more)[0][0],
}
BY_Y = {
    "vjp": V * 2 * X,
    "jvp": 2 * X * V,
    "vhp": np.exp(Y) * (2 * V + 2 * X * W),
    "hvp": np.exp(Y) * (2 * V + 2 * X * W),
    "jacobian": 2 * X,
    "hessian": 2 * np.exp(Y),
}
"""The gradients of the sums of these results by the second argument."""


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_enabled", [False, True])
def test_results_are_recorded_if_asked_for(name: str, is_enabled: bool) -> None:
    x, y = real(X, True), real(Y, True)
    assert not CALLS[name](x, y).requires_grad
    with autograd.set_grad_enabled(is_enabled):
        found = CALLS[name](x, y, create_graph=True)
        assert autograd.is_grad_enabled() is is_enabled
    (of_y,) = autograd.grad(total(found), y)
    close(of_y, BY_Y[name])
    assert x.grad is None


def test_a_failed_function_leaves_grad_mode_as_it_was() -> None:
    def function(x: Any) -> Any:
        assert autograd.is_grad_enabled()
        raise KeyError

    with autograd.no_grad():
        for call in (vjp, jvp, vhp, hvp, jacobian, hessian):
            with pytest.raises(KeyError):
                call(function, real([1.0]))
            assert not autograd.is_grad_enabled()


# -- strict ----------------------------------------------------------------------------------------


FIXED = real(Y)
ONE = real(1.0)


@pytest.mark.parametrize(
    ("call", "function", "message"),
    [
        (vjp, lambda x: FIXED, "Output 0 of the user-provided function does not require gradients"),
        (jvp, lambda x: FIXED, "Output 0 of the user-provided function does not require gradients"),
        (vhp, lambda x: ONE, "Output 0 of the user-provided function does not require gradients"),
        (vhp, total, "found that the jacobian of the user-provided function with respect to input"),
        (hvp, total, "found that the jacobian of the user-provided function with respect to input"),
        (jacobian, lambda x: FIXED, "Output 0 of the user-provided function does not require grad"),
        (hessian, total, "found that the jacobian of the user-provided function with respect to"),
    ],
)
def test_strict_refuses_what_does_not_depend_on_the_input(
    call: Any, function: Any, message: str
) -> None:
    x = real(X)
    given = () if call in (jacobian, hessian) else (real(V),)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call(function, x, *given, strict=True)
    found = call(function, x, *given)
    if call is vjp:
        close(found[1], np.zeros(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (vjp, "The output of the user-provided function is independent of input 1"),
        (jvp, "The output of the user-provided function is independent of input 1"),
        (jacobian, "Output 0 of the user-provided function is independent of input 1"),
    ],
)
def test_strict_names_the_input_that_is_not_used(call: Any, message: str) -> None:
    given = {vjp: (real(V),), jvp: ((real(V), real(W)),), jacobian: ()}[call]
    with pytest.raises(RuntimeError, match=message):
        call(lambda x, y: mul(x, x), BOTH, *given, strict=True)


@pytest.mark.parametrize("call", [vhp, hvp])
def test_strict_names_the_input_that_the_gradient_does_not_depend_on(call: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return add(total(mul(x, x)), total(y))

    with pytest.raises(
        RuntimeError, match=r"the jacobian .* with respect to input 1 is independent"
    ):
        call(function, BOTH, (real(V), real(W)), strict=True)

    def squares(x: Any, y: Any) -> Any:
        return add(total(mul(x, x)), mul(total(x), total(exp(y))))

    call(squares, BOTH, (real(V), real(W)), strict=True)
    _, (of_x, of_y) = call(function, BOTH, (real(V), real(W)))
    close(of_x, 2 * V)
    close(of_y, np.zeros(2))


def test_strict_refuses_a_constant_hessian_only_where_it_is_recorded() -> None:
    def function(x: Any) -> Any:
        return total(mul(x, x))

    close(vhp(function, real(X), real(V), strict=True)[1], 2 * V)
    with pytest.raises(RuntimeError, match="The hessian of the user-provided function is independ"):
        vhp(function, real(X), real(V), strict=True, create_graph=True)


def test_strict_refuses_a_constant_jacobian_only_where_it_is_recorded() -> None:
    def function(x: Any) -> Any:
        return mul(x, FIXED)

    close(jacobian(function, real(X), strict=True), np.diag(Y))
    with pytest.raises(RuntimeError, match="The jacobian of the user-provided function is indep"):
        jacobian(function, real(X), strict=True, create_graph=True)


def test_strict_passes_what_depends_on_every_input() -> None:
    close(vjp(product, BOTH, real(V), strict=True)[1][1], V * X * X)
    close(jvp(product, BOTH, (real(V), real(W)), strict=True)[1], 2 * X * Y * V + X * X * W)
    wanted = 2 * np.exp(Y) * V + 2 * X * np.exp(Y) * W
    close(vhp(scalar, BOTH, (real(V), real(W)), strict=True)[1][0], wanted)
    close(hvp(scalar, BOTH, (real(V), real(W)), strict=True)[1][0], wanted)
    close(hessian(scalar, BOTH, strict=True)[0][0], np.diag(2 * np.exp(Y)))


# -- refused arguments -----------------------------------------------------------------------------


ALL = [vjp, jvp, vhp, hvp, jacobian, hessian]


@pytest.mark.parametrize("call", ALL)
def test_inputs_and_outputs_are_tensors(call: Any) -> None:
    name = call.__name__
    with pytest.raises(TypeError, match=f"The inputs given to {name} must be .* the given inputs"):
        call(lambda x: x, 3)
    with pytest.raises(TypeError, match="the value at index 1 has type <class 'int'>"):
        call(lambda x, y: x, (real([1.0]), 3), (real([1.0]), real([1.0])))
    with pytest.raises(TypeError, match=rf"user-provided function given to {name} must be either"):
        call(lambda x: 3, real([1.0]))
    with pytest.raises(RuntimeError, match=r"but an input is dovetail.int64"):
        call(lambda x: x, tensor([1], dtype=np.int64))


@pytest.mark.parametrize("call", [vhp, hvp, hessian])
def test_a_hessian_is_of_a_single_element(call: Any) -> None:
    name = call.__name__
    v = () if call is hessian else (real(V),)
    with pytest.raises(RuntimeError, match=f"given to {name} should return a single Tensor"):
        call(lambda x: (total(x),), real(X), *v)
    with pytest.raises(RuntimeError, match=f"given to {name} should contain a single element"):
        call(lambda x: mul(x, x), real(X), *v)


@pytest.mark.parametrize(
    ("call", "inputs", "v", "message"),
    [
        (vjp, real(X), None, "v can only be None if the user-provided function returns a single"),
        (jvp, real(X), None, "v can only be None if the input to the user-provided function is a"),
        (jvp, BOTH, None, "The vector v can only be None"),
        (jvp, BOTH, (real(V),), "v is a tuple of invalid length: should be 2 but got 1"),
        (jvp, real(X), (real(V), real(V)), "The given v should contain a single Tensor"),
        (jvp, real(X), real([1.0]), "v has invalid size: should be "),
        (jvp, BOTH, (real(V), real([1.0])), "Entry 1 of v has invalid size: should be "),
    ],
)
def test_v_has_the_form_of_the_arguments(call: Any, inputs: Any, v: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(lambda *given: mul(given[0], given[-1]), inputs, v)
    with pytest.raises(TypeError, match=r"The v given to .* must be either a Tensor or a tuple"):
        call(lambda *given: mul(given[0], given[-1]), inputs, 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"strategy": "sideways"}, AssertionError, 'Expected strategy to be either "forward-mode"'),
        ({"strict": True, "vectorize": True}, RuntimeError, "are not supported together"),
        (
            {"strategy": "forward-mode", "create_graph": True},
            NotImplementedError,
            '`create_graph=True` and `strategy="forward-mode"` are not supported together',
        ),
        (
            {"strategy": "forward-mode", "strict": True},
            RuntimeError,
            '`strict=True` and `strategy="forward-mode"` are not supported together',
        ),
        (
            {"strategy": "forward-mode"},
            NotImplementedError,
            "only implemented for `vectorize=True`",
        ),
    ],
)
def test_unfit_options_are_refused(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        jacobian(lambda x: mul(x, x), real(X), **options)


def test_hessian_checks_its_strategy() -> None:
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode"'):
        hessian(total, real(X), outer_jacobian_strategy="sideways")
