"""An optimizer whose step refuses one parameter changes none of them, and no state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail import optim
from dovetail.nn import Parameter

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": optim.SGD,
    "SGD with momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    **{
        name: getattr(optim, name)
        for name in optim.__all__
        if name not in ("SGD", "LBFGS", "SparseAdam", "Muon", "Optimizer", "lr_scheduler")
        and isinstance(getattr(optim, name), type)
    },
    "LBFGS": optim.LBFGS,
}


def sparse(parameter: Parameter) -> None:
    parameter.grad = dovetail.sparse_coo_tensor([[0]], [1.0], (2,))


def retyped(parameter: Parameter) -> None:
    parameter.data = dovetail.zeros(2, dtype=dovetail.float64)


def reshaped(parameter: Parameter) -> None:
    parameter.data = dovetail.zeros(3)


def expanded(parameter: Parameter) -> None:
    parameter.data = dovetail.zeros(1).expand(2)


def moved(parameter: Parameter) -> None:
    parameter.data = dovetail.zeros(2, device="meta")


def state_of(optimizer: Any, parameters: list[Parameter]) -> Any:
    values = [each.tolist() for each in parameters]
    return values, repr(optimizer.state_dict()["state"])


@pytest.mark.cpu_only(reason="gradients are sparse, and parameters change their device")
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("count", [2, 20])
@pytest.mark.parametrize("spoil", [sparse, retyped, reshaped, expanded, moved])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_that_is_refused_changes_nothing(
    name: str, spoil: Callable[[Parameter], None], count: int, steps: int
) -> None:
    parameters = [Parameter(dovetail.zeros(2)) for _ in range(count)]
    groups = [{"params": parameters[:1]}, {"params": parameters[1:]}]
    optimizer = OPTIMIZERS[name](parameters if name == "LBFGS" else groups)
    arguments = (lambda: dovetail.ones(()),) if name == "LBFGS" else ()
    for parameter in parameters:
        parameter.grad = dovetail.ones(2)
    for _ in range(steps):
        optimizer.step(*arguments)
    spoil(parameters[-1])
    before = state_of(optimizer, parameters[:-1])
    try:
        optimizer.step(*arguments)
    except RuntimeError:
        assert state_of(optimizer, parameters[:-1]) == before
    else:  # this rule takes it
        assert state_of(optimizer, parameters[:-1]) != before
