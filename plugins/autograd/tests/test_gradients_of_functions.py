"""`grad`, `grad_and_value`, `vjp`, `linearize`, `jacrev`, `jacfwd` and `hessian` of functions."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from small_library import close, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from dovetail_dispatcher import TorchDispatchMode, ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total = ops.aten.sum.default
VALUES = np.array([0.3, 0.7, -0.2])
OTHERS = np.array([2.0, -1.0, 0.5])


def cube(x: Any) -> Any:
    return total(mul(x, mul(x, x)))


def test_grad_is_the_gradient_and_leaves_the_argument_alone() -> None:
    x = real(VALUES)
    found = grad(cube)(x)
    close(found, 3 * VALUES**2)
    assert not found.requires_grad
    assert not x.requires_grad
    assert x.grad is None


def test_the_result_of_grad_requires_grad_where_the_argument_does() -> None:
    x = real(VALUES, requires_grad=True)
    found = grad(cube)(x)
    assert found.requires_grad
    total(found).backward()
    close(x.grad, 6 * VALUES)


def test_nothing_is_recorded_around_grad_in_no_grad_mode() -> None:
    x = real(VALUES, requires_grad=True)
    with autograd.no_grad():
        found = grad(cube)(x)
    close(found, 3 * VALUES**2)
    assert not found.requires_grad


@pytest.mark.parametrize("order", [2, 3, 4])
def test_gradients_nest(order: int) -> None:
    expected = {2: 6 * VALUES, 3: np.full(3, 6.0), 4: np.zeros(3)}[order]

    def nested(n: int) -> Callable[[Any], Any]:
        return cube if n == 0 else lambda x: total(grad(nested(n - 1))(x))

    close(grad(nested(order - 1))(real(VALUES)), expected)


def test_gradients_of_inner_functions_see_the_variable_of_the_outer_one() -> None:
    def outer(x: Any) -> Any:
        inner = grad(lambda y: total(mul(mul(x, y), y)))(x)  # 2 x y at y = x
        return total(inner)

    close(grad(outer)(real(VALUES)), 4 * VALUES)


ARGUMENTS = [
    (0, (2 * VALUES * OTHERS,)),
    (1, (VALUES**2,)),
    (-1, (VALUES**2,)),
    ((1, 0), (VALUES**2, 2 * VALUES * OTHERS)),
    ((-2,), (2 * VALUES * OTHERS,)),
]


@pytest.mark.parametrize(("argnums", "expected"), ARGUMENTS)
def test_argnums_choose_the_arguments(argnums: Any, expected: tuple[Any, ...]) -> None:
    def function(x: Any, y: Any) -> Any:
        return total(mul(mul(x, x), y))

    found = grad(function, argnums)(real(VALUES), real(OTHERS))
    if isinstance(argnums, tuple):
        assert isinstance(found, tuple)
    else:
        found = (found,)
    for each, wanted in zip(found, expected, strict=True):
        close(each, wanted)


@pytest.mark.parametrize(
    ("argnums", "message"),
    [
        (2, r"Got argnum=2, but only 2 positional inputs"),
        (-3, r"Got argnum=-3, but only 2 positional inputs"),
        ((0, 2), r"Got argnum=2, but only 2 positional inputs"),
        ((0, -2), r"argnums elements must be unique, got \(0, -2\)"),
        ((), r"argnums must be non-empty"),
        (True, r"argnums must be int or Tuple\[int, ...\], got: <class 'bool'>"),
        ("0", r"argnums must be int or Tuple\[int, ...\], got: <class 'str'>"),
        ((0, "1"), r"argnums must be int or Tuple\[int, ...\], got: \(0, '1'\)"),
    ],
)
@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd])
def test_unfit_argnums_are_refused(transform: Any, argnums: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        transform(lambda x, y: total(mul(x, y)), argnums)(real(VALUES), real(OTHERS))


def test_arguments_may_be_nested_and_keywords_are_not_differentiated() -> None:
    Both = namedtuple("Both", "a b")

    def function(given: Any, *, factor: Any) -> Any:
        product = mul(mul(given["both"].a, given["both"].b[0]), factor)
        return add(total(product), total(given["one"][0]))

    given = {"both": Both(real(VALUES), [real(OTHERS)]), "one": (real([1.0, 2.0]),)}
    found = grad(function)(given, factor=real(3.0))
    assert isinstance(found["both"], Both)
    close(found["both"].a, 3 * OTHERS)
    close(found["both"].b[0], 3 * VALUES)
    close(found["one"][0], [1.0, 1.0])


def test_the_wrapper_is_named_as_the_function() -> None:
    for transform in (grad, grad_and_value, jacrev, jacfwd):
        assert transform(cube).__name__ == "cube"


def test_grad_and_value_returns_both_and_aux() -> None:
    x = real(VALUES)
    gradient, value = grad_and_value(cube)(x)
    close(gradient, 3 * VALUES**2)
    close(value, (VALUES**3).sum())
    gradient, (value, aux) = grad_and_value(lambda x: (cube(x), {"y": mul(x, x)}), has_aux=True)(x)
    close(gradient, 3 * VALUES**2)
    close(value, (VALUES**3).sum())
    close(aux["y"], VALUES**2)
    assert not value.requires_grad
    assert not aux["y"].requires_grad


def test_grad_with_aux_returns_a_pair() -> None:
    gradient, aux = grad(lambda x: (cube(x), mul(x, x)), has_aux=True)(real(VALUES))
    close(gradient, 3 * VALUES**2)
    close(aux, VALUES**2)
    assert not aux.requires_grad


@pytest.mark.parametrize(
    ("returned", "has_aux", "message"),
    [
        (lambda x: 3, False, r"Expected f\(\*args\) to return a Tensor, got <class 'int'>"),
        (lambda x: (cube(x), x), False, r"to return a Tensor, got <class 'tuple'>"),
        (lambda x: x, False, r"return a scalar Tensor, got tensor with 1 dims"),
        (cube, True, r"output of function f should be a tuple: \(output, aux\)"),
        (lambda x: (cube(x), x, x), True, r"output of function f should be a tuple"),
        (lambda x: (cube(x), 3), True, r"Expected tensors, got unsupported type <class 'int'>"),
    ],
)
def test_grad_refuses_other_outputs(returned: Any, has_aux: bool, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        grad(returned, has_aux=has_aux)(real(VALUES))


@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd])
def test_only_tensors_are_differentiated_by(transform: Any) -> None:
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor, got"):
        transform(lambda x: x)(3.0)


def test_integers_are_not_differentiated_by() -> None:
    with pytest.raises(RuntimeError, match=r"an input to differentiate by is dovetail.int64"):
        grad(cube)(tensor([1, 2], dtype=np.int64))


def test_an_output_that_does_not_depend_on_the_input_has_gradient_zero() -> None:
    fixed = real(VALUES)
    close(grad(lambda x: total(fixed))(real(OTHERS)), np.zeros(3))
    output, pull = vjp(lambda x: fixed, real(OTHERS))
    close(pull(real([1.0, 1.0, 1.0]))[0], np.zeros(3))
    close(output, VALUES)


# -- vjp -------------------------------------------------------------------------------------------


def test_vjp_may_be_pulled_back_repeatedly() -> None:
    output, pull = vjp(lambda x, y: {"p": mul(x, y), "s": add(x, y)}, real(VALUES), real(OTHERS))
    close(output["p"], VALUES * OTHERS)
    close(output["s"], VALUES + OTHERS)
    assert not output["p"].requires_grad
    for scale in (1.0, 2.0):
        seed = real(np.full(3, scale))
        of_x, of_y = pull({"p": seed, "s": seed})
        close(of_x, scale * (OTHERS + 1))
        close(of_y, scale * (VALUES + 1))


def test_vjp_with_aux_returns_three() -> None:
    output, pull, aux = vjp(lambda x: (mul(x, x), exp(x)), real(VALUES), has_aux=True)
    close(output, VALUES**2)
    close(aux, np.exp(VALUES))
    close(pull(real(OTHERS))[0], 2 * VALUES * OTHERS)


def test_cotangents_have_the_structure_of_the_output() -> None:
    _, pull = vjp(lambda x: (x, mul(x, x)), real(VALUES))
    with pytest.raises(RuntimeError, match=r"cotangents: \*, primal output: \(\*, \*\)"):
        pull(real(VALUES))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"Expected f to be a function that has non-empty output \(got output = \[None\]\)"),
        ((), r"non-empty output \(got output = \[\(\)\]\)"),
        (3, r"expected f\(\*primals\) to return only tensors, got unsupported type <class 'int'>"),
    ],
)
def test_vjp_and_jvp_refuse_other_outputs(returned: Any, message: str) -> None:
    x = real(VALUES)
    with pytest.raises(RuntimeError, match=message):
        vjp(lambda x: returned, x)
    with pytest.raises(RuntimeError, match=message):
        jvp(lambda x: returned, (x,), (x,))


def test_the_pullback_works_in_inference_mode_and_in_no_grad_mode() -> None:
    _, pull = vjp(lambda x: mul(x, x), real(VALUES))
    with autograd.inference_mode():
        inside = autograd.is_inference_mode_enabled()
        close(pull(real(OTHERS))[0], 2 * VALUES * OTHERS)
        assert autograd.is_inference_mode_enabled() is inside
    with autograd.no_grad():
        close(pull(real(OTHERS))[0], 2 * VALUES * OTHERS)
    assert autograd.is_grad_enabled()
    assert not autograd.is_inference_mode_enabled()


def test_cotangents_that_require_grad_are_differentiated() -> None:
    _, pull = vjp(lambda x: mul(x, x), real(VALUES))
    seed = real(OTHERS, requires_grad=True)
    total(pull(seed)[0]).backward()
    close(seed.grad, 2 * VALUES)


# -- linearize -------------------------------------------------------------------------------------


def test_linearize_multiplies_the_jacobian_by_tangents() -> None:
    calls = []

    def function(x: Any, y: Any) -> Any:
        calls.append(1)
        return {"p": mul(x, y), "e": exp(x)}

    output, push = linearize(function, real(VALUES), real(OTHERS))
    close(output["p"], VALUES * OTHERS)
    for scale in (1.0, -3.0):
        found = push(real(np.full(3, scale)), real([1.0, 2.0, 3.0]))
        close(found["p"], scale * OTHERS + VALUES * [1.0, 2.0, 3.0])
        close(found["e"], scale * np.exp(VALUES))
    assert len(calls) == 1


def test_linearize_refuses_other_tangents() -> None:
    _, push = linearize(lambda x: mul(x, x), real(VALUES))
    with pytest.raises(RuntimeError, match=r"to have the same argspec as the primals \(\*,\)"):
        push(real(VALUES), real(VALUES))
    with pytest.raises(RuntimeError, match=r"tangent:0 with shape .*2.* doesn't match the shape"):
        push(real([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"tangent:0 with dtype dovetail.float32"):
        push(tensor(VALUES))


# -- jacobians -------------------------------------------------------------------------------------


def outer(x: Any, y: Any) -> Any:
    """Return the products of every element of `x` with every one of `y`."""
    return mul(ops.aten.unsqueeze(x, 1), ops.aten.unsqueeze(y, 0))


def jacobian_of_outer_by_x(y: Any, size: int) -> Any:
    return np.einsum("ik,j->ijk", np.eye(size), y)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_a_jacobian_has_the_shape_of_the_output_and_then_of_the_input(transform: Any) -> None:
    y = np.array([5.0, 7.0])
    found = transform(outer)(real(VALUES), real(y))
    close(found, jacobian_of_outer_by_x(y, 3))
    by_x, by_y = transform(outer, (0, 1))(real(VALUES), real(y))
    close(by_x, jacobian_of_outer_by_x(y, 3))
    close(by_y, np.einsum("i,jk->ijk", VALUES, np.eye(2)))
    assert not by_x.requires_grad


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_a_jacobian_has_the_structures_of_output_and_argument(transform: Any) -> None:
    def function(given: Any) -> Any:
        return {"p": mul(given["a"], given["b"]), "s": total(given["a"])}

    found = transform(function)({"a": real(VALUES), "b": real(OTHERS)})
    close(found["p"]["a"], np.diag(OTHERS))
    close(found["p"]["b"], np.diag(VALUES))
    close(found["s"]["a"], np.ones(3))
    close(found["s"]["b"], np.zeros(3))


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_a_jacobian_comes_with_aux(transform: Any) -> None:
    found, aux = transform(lambda x: (mul(x, x), exp(x)), has_aux=True)(real(VALUES))
    close(found, np.diag(2 * VALUES))
    close(aux, np.exp(VALUES))


@pytest.mark.parametrize("chunk_size", [1, 2, 4, 5, 6, 7])
def test_rows_may_be_computed_in_chunks(chunk_size: int) -> None:
    y = np.array([5.0, 7.0])
    rows = jacrev(outer, chunk_size=chunk_size)(real(VALUES), real(y))
    close(rows, jacobian_of_outer_by_x(y, 3))


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_a_chunk_has_at_least_one_row(chunk_size: int) -> None:
    with pytest.raises(ValueError, match="jacrev: `chunk_size` should be greater than 0"):
        jacrev(outer, chunk_size=chunk_size)


def test_jacrev_passes_keywords_on() -> None:
    found = jacrev(lambda x, *, y: mul(x, y))(real(VALUES), y=real(OTHERS))
    close(found, np.diag(OTHERS))
    found = jacfwd(lambda x, *, y: mul(x, y))(real(VALUES), y=real(OTHERS))
    close(found, np.diag(OTHERS))


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_jacobians_of_complex_tensors_are_refused(transform: Any) -> None:
    name = transform.__name__
    z = tensor([1j], dtype=np.complex128)
    with pytest.raises(
        RuntimeError, match=f"{name}: Expected all inputs to be real .* input idx: 1"
    ):
        transform(mul, (0, 1))(real([1.0]), z)
    with pytest.raises(
        RuntimeError, match=f"{name}: Expected all outputs to be real .* output idx: 0"
    ):
        transform(lambda x: mul(x, z))(real([1.0]))


def test_a_hessian_is_the_second_derivative() -> None:
    def function(x: Any, y: Any) -> Any:
        return total(mul(mul(x, x), exp(y)))

    by_x = hessian(function)(real(VALUES), real(OTHERS))
    close(by_x, np.diag(2 * np.exp(OTHERS)))
    ((xx, xy), (yx, yy)) = hessian(function, (0, 1))(real(VALUES), real(OTHERS))
    close(xx, np.diag(2 * np.exp(OTHERS)))
    close(xy, np.diag(2 * VALUES * np.exp(OTHERS)))
    close(yx, np.diag(2 * VALUES * np.exp(OTHERS)))
    close(yy, np.diag(VALUES**2 * np.exp(OTHERS)))


# -- jvp -------------------------------------------------------------------------------------------


def test_jvp_is_the_directional_derivative() -> None:
    output, tangent = jvp(mul, (real(VALUES), real(OTHERS)), (real([1.0, 2.0, 3.0]), real(VALUES)))
    close(output, VALUES * OTHERS)
    close(tangent, [1.0, 2.0, 3.0] * OTHERS + VALUES * VALUES)
    assert not output.requires_grad
    assert not tangent.requires_grad


def test_jvp_keeps_structures_and_returns_aux() -> None:
    output, tangent, aux = jvp(
        lambda given: ([mul(given["x"], given["x"])], {"e": exp(given["x"])}),
        ({"x": real(VALUES)},),
        ({"x": real(OTHERS)},),
        has_aux=True,
    )
    close(output[0], VALUES**2)
    close(tangent[0], 2 * VALUES * OTHERS)
    close(aux["e"], np.exp(VALUES))


def test_a_constant_output_has_tangent_zero_unless_strict() -> None:
    fixed = real(VALUES)
    output, tangent = jvp(lambda x: fixed, (real(OTHERS),), (real(OTHERS),))
    close(output, VALUES)
    close(tangent, np.zeros(3))
    with pytest.raises(RuntimeError, match=r"strict=True.*The output of f is independent"):
        jvp(lambda x: fixed, (real(OTHERS),), (real(OTHERS),), strict=True)


@pytest.mark.parametrize(
    ("primals", "tangents", "message"),
    [
        ([1], (1,), "Expected primals to be a tuple"),
        ((1,), (1, 2), "Expected primals and tangents to have the same python structure"),
        ((), (), "Expected primals to contain at least one Tensor"),
        ((1,), (1,), "Expected primals to only contain Tensors, got <class 'int'>"),
    ],
)
def test_jvp_refuses_other_arguments(primals: Any, tangents: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        jvp(lambda *given: given, primals, tangents)


def test_jvp_refuses_other_tangents() -> None:
    x = real(VALUES)
    with pytest.raises(RuntimeError, match="Expected tangents to only contain Tensors"):
        jvp(cube, (x,), (3.0,))
    message = r"Tensor is of size \[3\] while the given forward gradient is of size \[2\]"
    with pytest.raises(RuntimeError, match=message):
        jvp(cube, (x,), (real([1.0, 2.0]),))


def test_a_tangent_of_another_dtype_is_cast() -> None:
    _, tangent = jvp(lambda x: mul(x, x), (real([2.0]),), (tensor([3.0]),))
    close(tangent, [12.0])
    assert tangent.dtype is real([1.0]).dtype


# -- nesting of both modes -------------------------------------------------------------------------


def forward(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the derivative of a scalar function of a vector along OTHERS, in forward mode."""
    return lambda x: jvp(function, (x,), (real(OTHERS),))[1]


def reverse(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same in reverse mode."""
    return lambda x: total(mul(vjp(function, x)[1](real(1.0))[0], real(OTHERS)))


SECOND = (6 * VALUES * OTHERS**2).sum()
THIRD = (6 * OTHERS**3).sum()


@pytest.mark.parametrize("inner", [forward, reverse])
@pytest.mark.parametrize("middle", [forward, reverse])
def test_modes_nest_in_any_order(inner: Any, middle: Any) -> None:
    close(middle(inner(cube))(real(VALUES)), SECOND)
    for outside in (forward, reverse):
        close(outside(middle(inner(cube)))(real(VALUES)), THIRD)


@pytest.mark.parametrize("mode", [forward, reverse])
def test_derivatives_run_for_each_sample_of_a_batch(mode: Any) -> None:
    batch = np.stack([VALUES, OTHERS])
    expected = [(3 * row**2 * OTHERS).sum() for row in batch]
    close(vmap(mode(cube))(real(batch)), expected)


@pytest.mark.parametrize("mode", [forward, reverse])
def test_a_batch_may_lie_inside_of_a_derivative(mode: Any) -> None:
    def function(x: Any) -> Any:
        rows = ops.aten.stack([x, mul(x, x)], 0)
        return total(vmap(lambda row: mul(row, row))(rows))

    expected = ((2 * VALUES + 4 * VALUES**3) * OTHERS).sum()
    close(mode(function)(real(VALUES)), expected)


def test_jvp_is_recorded_by_the_graph_outside() -> None:
    x = real(VALUES, requires_grad=True)
    v = real(OTHERS, requires_grad=True)
    output, tangent = jvp(lambda x: mul(mul(x, x), x), (x,), (v,))
    assert output.requires_grad
    total(tangent).backward()
    close(x.grad, 6 * VALUES * OTHERS)
    close(v.grad, 3 * VALUES**2)


# -- writes ----------------------------------------------------------------------------------------


def test_what_a_function_makes_may_be_written() -> None:
    def function(x: Any) -> Any:
        y = mul(x, x)
        ops.aten.mul_.Tensor(y, x)
        return total(y)

    close(grad(function)(real(VALUES)), 3 * VALUES**2)
    _, tangent = jvp(function, (real(VALUES),), (real(OTHERS),))
    close(tangent, (3 * VALUES**2 * OTHERS).sum())


@pytest.mark.parametrize("transform", [grad, vjp, jacrev, forward])
def test_writes_to_captured_tensors_are_refused(transform: Any) -> None:
    captured = real(OTHERS)

    def function(x: Any) -> Any:
        ops.aten.mul_.Tensor(captured, x)
        return total(captured)

    with pytest.raises(RuntimeError, match="captured"):
        if transform is vjp:
            vjp(function, real(VALUES))
        else:
            transform(function)(real(VALUES))
    assert captured.array.tolist() == OTHERS.tolist()
    assert captured._version == 0


def test_saved_tensor_hooks_are_refused_in_reverse_mode() -> None:
    x = real(VALUES)
    message = r"dovetail.func.\{grad, vjp, jacrev, hessian\} don't yet support saved tensor hooks"
    with (
        autograd.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match=message),
    ):
        grad(cube)(x)

    def hooked(x: Any) -> Any:
        with autograd.saved_tensors_hooks(lambda t: t, lambda t: t):
            return cube(x)

    with pytest.raises(RuntimeError, match=message):
        grad(hooked)(x)


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("is_entered", [False, True])
def test_a_mode_around_an_inner_gradient_changes_nothing(is_entered: bool) -> None:
    def slopes(x: Any) -> Any:
        with Passing() if is_entered else nullcontext():
            return grad(cube)(x)

    close(grad(lambda x: total(slopes(x)))(real(VALUES)), 6 * VALUES)
    rows = np.stack([VALUES, OTHERS])
    close(vmap(slopes)(real(rows)), 3 * rows**2)
