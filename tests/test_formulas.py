"""Every derivative formula of the base library: both of its bodies agree, and both with numeric
differentiation.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
from differentiable_calls import STEPS, differentiable_calls, differentiable_operators

import dovetail

BODIES_ONLY = {
    **STEPS,
    **dict.fromkeys(
        ["sign", "sgn", "floor", "ceil", "round", "trunc"],
        "steps: the derivative is zero where there is one",
    ),
}
"""Operators that are not compared with numeric differentiation, and why."""


def outputs_of(run: Any, leaves: list[Any]) -> list[Any]:
    """Return the results that have a gradient."""
    return [output for output in run(*leaves) if output.requires_grad]


def results_of(run: Any, *leaves: Any) -> tuple[Any, ...]:
    return tuple(outputs_of(run, list(leaves)))


@pytest.mark.parametrize("name", differentiable_operators())
def test_the_bodies_over_arrays_and_over_tensors_agree(name: str) -> None:
    for run, inputs in differentiable_calls(name):
        leaves = [value.clone().requires_grad_() for value in inputs]
        outputs = outputs_of(run, leaves)
        if not outputs:
            continue
        seeds = [dovetail.ones_like(output) * 0.7 + output.detach() * 0 for output in outputs]
        over_arrays = dovetail.autograd.grad(
            outputs, leaves, seeds, retain_graph=True, allow_unused=True
        )
        over_tensors = dovetail.autograd.grad(
            outputs, leaves, seeds, create_graph=True, allow_unused=True
        )
        for array_grad, tensor_grad in zip(over_arrays, over_tensors, strict=True):
            assert (array_grad is None) == (tensor_grad is None)
            if array_grad is not None:
                assert array_grad.dtype is tensor_grad.dtype
                assert dovetail.allclose(array_grad, tensor_grad.detach(), equal_nan=True)


@pytest.mark.parametrize("name", [n for n in differentiable_operators() if n not in BODIES_ONLY])
def test_the_derivative_is_that_of_the_operator(name: str) -> None:
    for run, inputs in differentiable_calls(name):
        leaves = [value.clone().requires_grad_() for value in inputs]
        if outputs_of(run, leaves):
            assert dovetail.autograd.gradcheck(
                functools.partial(results_of, run), leaves, check_undefined_grad=False
            )


@pytest.mark.parametrize("name", differentiable_operators())
def test_gradients_on_the_meta_device_have_the_shapes_and_dtypes_of_real_ones(name: str) -> None:
    for run, inputs in differentiable_calls(name):
        described = []
        for device in (inputs[0].device, dovetail.device("meta")):
            leaves = [value.to(device).detach().requires_grad_() for value in inputs]
            moved = functools.partial(run, device=device)
            outputs = outputs_of(moved, leaves)
            for create_graph in (False, True):
                seeds = [dovetail.ones_like(output) for output in outputs]
                grads = dovetail.autograd.grad(
                    outputs,
                    leaves,
                    seeds,
                    retain_graph=True,
                    create_graph=create_graph,
                    allow_unused=True,
                )
                described.append(
                    [None if grad is None else (grad.shape, grad.dtype) for grad in grads]
                )
        assert described[:2] == described[2:]


def test_an_in_place_variant_is_differentiated_and_explained_by_the_formula_of_its_operator() -> (
    None
):
    x = dovetail.ones(2, requires_grad=True) * 1
    step = dovetail.explain(dovetail.ops.aten.mul_.Tensor, x, dovetail.ones(2)).chain[0]
    assert step.rule == "autograd kernel"
    assert "mul_Tensor" in step.kernel
    assert x.mul_(2).grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize(
    "split", [lambda x: x.sort()[0], lambda x: x.chunk(2)[0], lambda x: x.max(0)[0]]
)
def test_a_node_of_several_outputs_of_which_none_has_a_gradient_is_passed_over(split: Any) -> None:
    class Nothing(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> None:
            return None

    x = dovetail.rand(4, requires_grad=True)
    Nothing.apply(split(x)).sum().backward()
    assert x.grad is None
