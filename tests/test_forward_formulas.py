"""Every operator with a derivative in forward mode: against numeric differentiation, and against its own backward."""

from __future__ import annotations

from typing import Any

import pytest
from operator_samples import operators, samples

import dovetail
from dovetail.autograd import forward_ad
from dovetail_dispatcher import registry
from dovetail_dispatcher.formula import Formula

DOMAIN = {"asin": 0.3, "acos": 0.3, "atanh": 0.3, "acosh": 4.0}
"""Factors that bring the samples into the domain of an operator."""

RANDOM = ("bernoulli", "rand", "normal", "uniform", "dropout", "native_dropout", "multinomial")

BACKWARD_ONLY = {
    **dict.fromkeys(["div.Tensor_mode", "remainder.Tensor", "fmod.Tensor"], "a step at the samples"),
    **dict.fromkeys(["clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"], "a kink at the samples"),
    **dict.fromkeys(["_softmax_backward_data", "_log_softmax_backward_data"], "the samples ask for single precision"),
    "native_layer_norm_backward": "right only for the mean and deviation of the input, which the samples do not give",
    "nll_loss_backward": "right only for the total weight of the targets, which shifted samples do not give",
}
"""Operators that are only compared with their backward formula, and why."""


def formula_of(name: str) -> Any:
    base, _, overload = name.partition(".")
    return registry.find_or_throw(f"aten::{base}", overload).formula


def differentiable() -> list[str]:
    """Return the operators with a formula for some input."""
    found = []
    for name in operators():
        formula = formula_of(name)
        if formula is None or not formula.inputs or formula.name == "NotImplemented":
            continue
        if not name.startswith(RANDOM) and name.split(".")[0][-1] != "_":
            found.append(name)
    return found


def in_double(value: Any, factor: float = 1.0) -> Any:
    """Return an argument in double precision, shifted off the kinks at integers."""
    if isinstance(value, dovetail.Tensor) and (value.is_floating_point() or value.is_complex()):
        wanted = dovetail.complex128 if value.is_complex() else dovetail.float64
        return value.detach().to(wanted) * factor + 0.0137
    if isinstance(value, list):
        return [in_double(item, factor) for item in value]
    return value


def leaves_of(value: Any) -> list[Any]:
    """Return the tensors that can have a derivative in an argument."""
    items = value if isinstance(value, list) else [value]
    return [i for i in items if isinstance(i, dovetail.Tensor) and (i.is_floating_point() or i.is_complex())]


def cases(name: str) -> list[tuple[Any, list[Any]]]:
    """Return functions of the differentiable arguments of the samples of an operator, with these arguments."""
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
        chosen = [i for i, v in enumerate(positional) if names[i] in op.formula.inputs and leaves_of(v)]
        if not chosen:
            continue

        def run(*inputs: Any, positional: Any = positional, chosen: Any = chosen, keywords: Any = keywords) -> Any:
            values, given = list(positional), iter(inputs)
            for i in chosen:
                value = positional[i]
                items = (
                    [next(given) if leaves_of(item) else item for item in value] if isinstance(value, list) else None
                )
                values[i] = next(given) if items is None else items
            result = function(*values, **keywords)
            results = result if isinstance(result, tuple | list) else (result,)
            flags = op.formula.output_differentiability or (True,) * len(results)
            return [r for r, flag in zip(results, flags, strict=False) if flag and leaves_of(r)]

        made.append((run, [leaf for i in chosen for leaf in leaves_of(positional[i])]))
    return made


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


@pytest.mark.parametrize("name", differentiable())
def test_forward_is_the_transpose_of_backward(name: str) -> None:
    for run, inputs in cases(name):
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
        right = sum(float((grad.conj() * t).sum().real) for grad, t in zip(grads, tangents, strict=True))
        assert left == pytest.approx(right, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", [n for n in differentiable() if n not in BACKWARD_ONLY])
def test_the_tangent_is_the_derivative_along_it(name: str) -> None:
    eps = 1e-6
    for run, inputs in cases(name):
        tangents = [direction(p, i) for i, p in enumerate(inputs)]
        above = run(*[p + eps * t for p, t in zip(inputs, tangents, strict=True)])
        below = run(*[p - eps * t for p, t in zip(inputs, tangents, strict=True)])
        for found, up, down in zip(forward(run, inputs, tangents), above, below, strict=True):
            assert dovetail.allclose(found, (up - down) / (2 * eps), rtol=1e-4, atol=1e-6)


def test_most_operators_have_a_forward_formula_of_their_own() -> None:
    own = [name for name in differentiable() if isinstance(f := formula_of(name), Formula) and f.forward]
    assert len(own) > 0.7 * len(differentiable())
