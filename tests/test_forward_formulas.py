"""Every operator with a derivative in forward mode: against numeric differentiation, and against
its own backward.
"""

from __future__ import annotations

from typing import Any

import pytest
from differentiable_calls import STEPS, differentiable_calls, differentiable_operators, formula_of

import dovetail
from dovetail.autograd import forward_ad
from dovetail_dispatcher.table.derivative_formula import Formula


def direction(tensor: Any, seed: int) -> Any:
    """Return a tangent for a tensor: fixed numbers without a pattern."""
    numbers = dovetail.arange(tensor.numel(), dtype=dovetail.float64).reshape(tensor.shape)
    tangent = ((numbers + 1.0) * (1.7 + seed)).sin()
    return tangent + 1j * (numbers * (0.9 + seed)).cos() if tensor.is_complex() else tangent


def forward(run: Any, inputs: list[Any], tangents: list[Any]) -> list[Any]:
    """Return the tangents of the results of ``run(*inputs)``."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(p.clone(), t) for p, t in zip(inputs, tangents, strict=True)]
        unpacked = [forward_ad.unpack_dual(result) for result in run(*duals)]
    return [dovetail.zeros_like(u.primal) if u.tangent is None else u.tangent for u in unpacked]


@pytest.mark.parametrize("name", differentiable_operators())
def test_forward_is_the_transpose_of_backward(name: str) -> None:
    for run, inputs in differentiable_calls(name):
        tangents = [direction(p, i) for i, p in enumerate(inputs)]
        out_tangents = forward(run, inputs, tangents)
        leaves = [p.clone().requires_grad_() for p in inputs]
        outputs = run(*leaves)
        flags = [output.requires_grad for output in outputs]
        if not any(flags):
            continue
        seeds = [direction(output, 5 + i).to(output.dtype) for i, output in enumerate(outputs)]
        wanted = [output for output, flag in zip(outputs, flags, strict=True) if flag]
        given = [seed for seed, flag in zip(seeds, flags, strict=True) if flag]
        grads = dovetail.autograd.grad(wanted, leaves, given, materialize_grads=True)
        left = sum(
            float((seed.conj() * t).sum().real)
            for seed, t, flag in zip(seeds, out_tangents, flags, strict=True)
            if flag
        )
        right = sum(
            float((grad.conj() * t).sum().real) for grad, t in zip(grads, tangents, strict=True)
        )
        assert left == pytest.approx(right, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", [n for n in differentiable_operators() if n not in STEPS])
def test_the_tangent_is_the_derivative_along_it(name: str) -> None:
    eps = 1e-6
    for run, inputs in differentiable_calls(name):
        tangents = [direction(p, i) for i, p in enumerate(inputs)]
        above = run(*[p + eps * t for p, t in zip(inputs, tangents, strict=True)])
        below = run(*[p - eps * t for p, t in zip(inputs, tangents, strict=True)])
        for found, up, down in zip(forward(run, inputs, tangents), above, below, strict=True):
            assert dovetail.allclose(found, (up - down) / (2 * eps), rtol=1e-4, atol=1e-6)


def test_most_operators_have_a_forward_formula_of_their_own() -> None:
    own = [
        name
        for name in differentiable_operators()
        if isinstance(f := formula_of(name), Formula) and f.forward
    ]
    assert len(own) > 0.7 * len(differentiable_operators())
