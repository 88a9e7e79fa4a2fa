"""Derivative formulas in use: by in-place variants, and by nodes that get no gradient.

What every formula gives is checked on the samples of its operator: `test_op_infos.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import dovetail
from dovetail.testing import op_infos
from dovetail_dispatcher.table.derivative_formula import Formula


def test_most_operators_have_a_forward_formula_of_their_own() -> None:
    formulas = [info.operator.formula for info in op_infos("aten") if info.supports_autograd]
    formulas = [each for each in formulas if isinstance(each, Formula) and each.inputs]
    assert len([each for each in formulas if each.forward]) > 0.7 * len(formulas)


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
