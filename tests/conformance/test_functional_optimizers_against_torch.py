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
            [p],
            [p],
            [p],
            [p],
            [],
            [t.tensor(0.0)],
            foreach=False,
            grad_scale=t.tensor(2.0),
            **ADAM,
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
