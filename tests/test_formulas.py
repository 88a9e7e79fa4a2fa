"""Every derivative formula of the base library: both of its bodies agree, and both with numeric differentiation."""

from __future__ import annotations

from typing import Any

import pytest
from operator_samples import operators, samples

import dovetail
from dovetail_dispatcher import registry

BODIES_ONLY = {
    **dict.fromkeys(
        ["sign", "sgn", "floor", "ceil", "round", "trunc"], "steps: the derivative is zero where there is one"
    ),
    **dict.fromkeys(
        ["div.Tensor_mode", "remainder.Tensor", "fmod.Tensor"], "the samples divide a number by itself: a step"
    ),
    **dict.fromkeys(
        ["clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"], "the samples clamp numbers to themselves"
    ),
    **dict.fromkeys(["_softmax_backward_data", "_log_softmax_backward_data"], "the samples ask for single precision"),
    "native_layer_norm_backward": "right only for the mean and deviation of the input, which the samples do not give",
    "nll_loss_backward": "right only for the total weight of the targets, which shifted samples do not give",
}
"""Operators that are not compared with numeric differentiation, and why."""

NO_DERIVATIVE = ("floor_divide", "floor_divide.Scalar")
"""Operators whose formula says that there is none."""

DOMAIN = {"asin": 0.3, "acos": 0.3, "atanh": 0.3, "acosh": 4.0}
"""Factors that bring the samples into the domain of an operator."""

RANDOM = ("bernoulli", "rand", "normal", "uniform", "dropout", "native_dropout", "multinomial")


def formula_of(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload).formula


def differentiable() -> list[str]:
    """Return the operators with a formula for some input."""
    found = []
    for name in operators():
        formula = formula_of(name)
        if (
            formula is not None
            and formula.inputs
            and not name.startswith((*RANDOM, *NO_DERIVATIVE))
            and name.split(".")[0][-1] != "_"
        ):
            found.append(name)
    return found


def in_double(value: Any, factor: float = 1.0) -> Any:
    """Return an argument in double precision, so that differences are precise, shifted off the kinks at integers."""
    if isinstance(value, dovetail.Tensor) and value.is_floating_point():
        return value.detach().double() * factor + 0.0137
    if isinstance(value, list):
        return [in_double(item, factor) for item in value]
    return value


def cases(name: str) -> list[tuple[Any, list[Any]]]:
    """Return functions of the differentiable float arguments only, with these arguments."""
    base, _, overload = name.partition(".")
    op = registry.find_or_throw(f"aten::{base}", overload)
    function = getattr(getattr(dovetail.ops.aten, base), overload or "default")
    names = [a.name for a in op.schema.arguments]
    made = []
    for arguments in samples(name):
        keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        if "dtype" in keywords:
            continue
        positional = [in_double(a, DOMAIN.get(name, 1.0)) for a in (arguments[:-1] if keywords else arguments)]
        chosen = [
            i
            for i, value in enumerate(positional)
            if names[i] in op.formula.inputs and isinstance(value, dovetail.Tensor) and value.is_floating_point()
        ]
        if not chosen:
            continue

        def run(*inputs: Any, positional: Any = positional, chosen: Any = chosen, keywords: Any = keywords) -> Any:
            values = list(positional)
            for i, value in zip(chosen, inputs, strict=True):
                values[i] = value
            result = function(*values, **keywords)
            results = result if isinstance(result, tuple | list) else (result,)
            return tuple(r for r in results if isinstance(r, dovetail.Tensor) and r.requires_grad)

        made.append((run, [positional[i] for i in chosen]))
    return made


@pytest.mark.parametrize("name", differentiable())
def test_the_bodies_over_arrays_and_over_tensors_agree(name: str) -> None:
    for run, inputs in cases(name):
        leaves = [value.clone().requires_grad_() for value in inputs]
        outputs = run(*leaves)
        if not outputs:
            continue
        seeds = [dovetail.ones_like(output) * 0.7 + output.detach() * 0 for output in outputs]
        over_arrays = dovetail.autograd.grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
        over_tensors = dovetail.autograd.grad(outputs, leaves, seeds, create_graph=True, allow_unused=True)
        for array_grad, tensor_grad in zip(over_arrays, over_tensors, strict=True):
            assert (array_grad is None) == (tensor_grad is None)
            if array_grad is not None:
                assert array_grad.dtype is tensor_grad.dtype
                assert dovetail.allclose(array_grad, tensor_grad.detach(), equal_nan=True)


@pytest.mark.parametrize("name", [n for n in differentiable() if n not in BODIES_ONLY])
def test_the_derivative_is_that_of_the_operator(name: str) -> None:
    for run, inputs in cases(name):
        leaves = [value.clone().requires_grad_() for value in inputs]
        if run(*leaves):
            assert dovetail.autograd.gradcheck(run, leaves, check_undefined_grad=False)


def test_an_in_place_variant_is_differentiated_and_explained_by_the_formula_of_its_operator() -> None:
    x = dovetail.ones(2, requires_grad=True) * 1
    step = dovetail.explain(dovetail.ops.aten.mul_.Tensor, x, dovetail.ones(2)).chain[0]
    assert step.rule == "autograd kernel"
    assert "mul_Tensor" in step.kernel
    assert x.mul_(2).grad_fn.name() == "MulBackward0"
