"""The functions behind the optimizers, with states that the caller keeps, beside PyTorch's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

BOTH = (torch, dovetail)

BETAS = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "lr": 0.05}
RATE = {"lr": 0.05, "weight_decay": 0.1}

CASES: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "adadelta": (
        "adadelta",
        ("zeros", "zeros", "step"),
        {**RATE, "rho": 0.9, "eps": 1e-6, "maximize": True},
    ),
    "adagrad": (
        "adagrad",
        ("zeros", "step"),
        {**RATE, "lr_decay": 0.1, "eps": 1e-8, "maximize": False},
    ),
    "adam": (
        "adam",
        ("zeros", "zeros", "none", "step"),
        {**BETAS, "amsgrad": False, "maximize": False},
    ),
    "adam with amsgrad": (
        "adam",
        ("zeros", "zeros", "zeros", "step"),
        {**BETAS, "amsgrad": True, "maximize": True},
    ),
    "adamw": (
        "adamw",
        ("zeros", "zeros", "none", "step"),
        {**BETAS, "amsgrad": False, "maximize": False},
    ),
    "adamax": ("adamax", ("zeros", "zeros", "step"), BETAS),
    "asgd": (
        "asgd",
        ("zeros", "ones", "rates", "step"),
        {**RATE, "lambd": 1e-2, "t0": 1.0, "alpha": 0.75},
    ),
    "nadam": ("nadam", ("zeros", "zeros", "ones", "step"), {**BETAS, "momentum_decay": 4e-3}),
    "radam": ("radam", ("zeros", "zeros", "step"), BETAS),
    "rmsprop": (
        "rmsprop",
        ("zeros", "none", "none", "step"),
        {**RATE, "alpha": 0.9, "eps": 1e-8, "momentum": 0.0, "centered": False},
    ),
    "rmsprop, centered, with momentum": (
        "rmsprop",
        ("zeros", "zeros", "zeros", "step"),
        {**RATE, "alpha": 0.9, "eps": 1e-8, "momentum": 0.9, "centered": True},
    ),
    "rprop": (
        "rprop",
        ("zeros", "full rates", "step"),
        {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2},
    ),
    "sgd": (
        "sgd",
        ("unset",),
        {**RATE, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False},
    ),
    "sgd with momentum": (
        "sgd",
        ("unset",),
        {**RATE, "momentum": 0.9, "dampening": 0.1, "nesterov": False, "maximize": True},
    ),
}

SHAPES = [(3,), (2, 4), ()]


def states(t: Any, kind: str, params: list[Any]) -> list[Any]:
    if kind == "none":
        return []
    makers = {
        "zeros": t.zeros_like,
        "step": lambda _: t.tensor(0.0),
        "ones": lambda _: t.tensor(1.0),
        "rates": lambda _: t.tensor(0.05),
        "full rates": lambda parameter: t.full_like(parameter, 0.05),
        "unset": lambda _: None,
    }
    return [makers[kind](parameter) for parameter in params]


def trained(t: Any, function: str, kinds: tuple[str, ...], options: dict[str, Any]) -> list[Any]:
    """Return parameters and states after four steps."""
    draw = np.random.default_rng(3)
    params = [t.tensor(draw.standard_normal(shape)) for shape in SHAPES]
    kept = [states(t, kind, params) for kind in kinds]
    step = getattr(import_module(f"{t.__name__}.optim.{function}"), function)
    assert step is getattr(import_module(f"{t.__name__}.optim._functional"), function)
    for _ in range(4):
        grads = [t.tensor(draw.standard_normal(shape)) for shape in SHAPES]
        step(params, grads, *kept, **options, **({} if function == "sgd" else {"foreach": False}))
    return [[None if each is None else each.tolist() for each in row] for row in (params, *kept)]


def flat(values: Any) -> list[float]:
    if isinstance(values, list):
        return [number for each in values for number in flat(each)]
    return [float("nan") if values is None else values]


@pytest.mark.parametrize("name", CASES)
def test_steps_with_states_of_the_caller_give_what_pytorch_gives(name: str) -> None:
    theirs, ours = (flat(trained(t, *CASES[name])) for t in BOTH)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


ADAM = {**BETAS, "amsgrad": False, "maximize": False}

REFUSED: dict[str, tuple[Any, str]] = {
    "steps that are numbers": (
        lambda t, f, p: f([p], [p], [p], [p], [], [1], foreach=False, **ADAM),
        "argument must contain a list of singleton tensors",
    ),
    "a gradient that is missing": (
        lambda t, f, p: f([p], [], [p], [p], [], [t.tensor(0.0)], foreach=False, **ADAM),
        "list index out of range",
    ),
    "gradients that are scaled": (
        lambda t, f, p: f(
            [p], [p], [p], [p], [], [t.tensor(0.0)], foreach=False, grad_scale=t.tensor(2.0), **ADAM
        ),
        "Expected grad_scale and found_inf to be None",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unfit_lists_are_refused_and_change_nothing(name: str) -> None:
    call, words = REFUSED[name]
    types = []
    for t in BOTH:
        parameter = t.ones(2)
        step = import_module(f"{t.__name__}.optim.adam").adam
        with pytest.raises(Exception, match=words) as caught:
            call(t, step, parameter)
        assert parameter.tolist() == [1.0, 1.0]
        types.append(caught.type)
    assert types[0] is types[1]


def test_a_recorded_step_keeps_the_new_count_in_the_list() -> None:
    counts = []
    for t in BOTH:
        p = t.ones(2, requires_grad=True).clone()
        steps = [t.tensor(0.0)]
        import_module(f"{t.__name__}.optim.adamax").adamax(
            [p], [t.ones(2)], [t.zeros(2)], [t.zeros(2)], steps, differentiable=True, **BETAS
        )
        assert p.requires_grad
        counts.append(steps[0].item())
    assert counts == [1.0, 1.0]


MATRICES = {
    "lr": 0.05,
    "weight_decay": 0.1,
    "momentum": 0.9,
    "ns_coefficients": (3.4445, -4.775, 2.0315),
    "ns_steps": 5,
    "eps": 1e-7,
    "has_complex": False,
}
FACTORS = {"d": 1.0, "lr": 0.05, "beta2_decay": -0.8, "weight_decay": 0.1, "eps2": 1e-3}


def trained_matrices(t: Any, nesterov: bool, rule: str | None) -> list[Any]:
    draw = np.random.default_rng(5)
    params = [t.tensor(draw.standard_normal(shape)) for shape in ((3, 2), (2, 4))]
    buffers = [t.zeros_like(each) for each in params]
    step = import_module(f"{t.__name__}.optim._muon").muon
    for _ in range(3):
        grads = [t.tensor(draw.standard_normal(tuple(each.shape))) for each in params]
        step(params, grads, buffers, nesterov=nesterov, adjust_lr_fn=rule, **MATRICES)
    return [each.tolist() for each in (*params, *buffers)]


@pytest.mark.parametrize(("nesterov", "rule"), [(True, None), (False, "match_rms_adamw")])
def test_steps_of_matrices_are_pytorchs(nesterov: bool, rule: str | None) -> None:
    theirs, ours = (flat(trained_matrices(t, nesterov, rule)) for t in BOTH)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)  # iterated in bfloat16


def trained_factors(t: Any, least: float, maximize: bool) -> list[Any]:
    draw = np.random.default_rng(5)
    params = [t.tensor(draw.standard_normal(shape)) for shape in ((3, 2), (4,))]
    rows, columns = [t.zeros(3, 1).double(), None], [t.zeros(1, 2).double(), None]
    variances = [None, t.zeros(4).double()]
    steps = [t.tensor(0.0), t.tensor(0.0)]
    step = import_module(f"{t.__name__}.optim._adafactor").adafactor
    for _ in range(3):
        grads = [t.tensor(draw.standard_normal(tuple(each.shape))) for each in params]
        options = {"eps1": least, "maximize": maximize, "foreach": False, **FACTORS}
        step(params, grads, rows, columns, variances, steps, **options)
    states = [*params, *rows, *columns, *variances, *steps]
    return [each.tolist() for each in states if each is not None]


@pytest.mark.parametrize(("least", "maximize"), [(1e-8, False), (1e-3, True)])
def test_steps_with_factors_of_squares_are_pytorchs(least: float, maximize: bool) -> None:
    theirs, ours = (flat(trained_factors(t, least, maximize)) for t in BOTH)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("t", BOTH, ids=["torch", "dovetail"])
def test_steps_of_matrices_refuse_what_they_cannot_do(t: Any) -> None:
    step = import_module(f"{t.__name__}.optim._muon").muon
    matrix = t.ones(2, 2)
    options = {"nesterov": True, "adjust_lr_fn": None, **MATRICES}
    with pytest.raises(RuntimeError, match="Foreach is not supported for Muon"):
        step([matrix], [matrix], [matrix], foreach=True, **options)
    with pytest.raises(IndexError, match="list index out of range"):
        step([matrix], [t.ones(2, 2)], [], **options)
    assert matrix.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("t", BOTH, ids=["torch", "dovetail"])
def test_a_rate_of_zero_is_no_rate_of_sparse_adam(t: Any) -> None:
    with pytest.raises(ValueError, match="Invalid learning rate: 0"):
        t.optim.SparseAdam([t.nn.Parameter(t.ones(1))], lr=0)
