"""Gradients through the steps of optimizers, compared with PyTorch and with differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {}),
    "SGD, uphill": ("SGD", {"maximize": True, "weight_decay": 0.1}),
    "SGD with momentum": ("SGD", {"momentum": 0.9}),
    "SGD, Nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "SGD, dampened": ("SGD", {"momentum": 0.5, "dampening": 0.1, "weight_decay": 0.01}),
    "Adam": ("Adam", {}),
    "Adam, greatest": ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    "Adam, uphill": ("Adam", {"maximize": True}),
    "AdamW": ("AdamW", {}),
    "AdamW, greatest": ("AdamW", {"amsgrad": True}),
    "Adagrad": ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}),
    "RMSprop": ("RMSprop", {}),
    "RMSprop, centred": ("RMSprop", {"centered": True, "weight_decay": 0.1}),
    "RMSprop with momentum": ("RMSprop", {"momentum": 0.9}),
    "RMSprop, centred with momentum": ("RMSprop", {"centered": True, "momentum": 0.9}),
}
DETACHES = {"SGD with momentum", "SGD, Nesterov", "SGD, dampened"}
"""Where PyTorch takes the first gradient in the momentum buffer for a constant."""

START = np.array([[0.5, -0.3], [0.2, 0.7]])
DATA = np.array([[1.0, 2.0], [3.0, -1.0]])


def trained(lib: Any, name: str, steps: int, start: Any, data: Any, rate: Any) -> Any:
    """Return a number that depends on the parameters after some steps."""
    optimizer, options = OPTIONS[name]
    parameter = start.clone()
    made = getattr(lib.optim, optimizer)([parameter], lr=rate, differentiable=True, **options)
    for _ in range(steps):
        loss = ((parameter.clone() * data).sin() ** 2).sum()
        (parameter.grad,) = lib.autograd.grad(loss, parameter, create_graph=True)
        made.step()
    return (parameter * parameter).sum()


def gradients(lib: Any, name: str, steps: int, rate: float | None = None) -> Any:
    """Return the result, and its gradients by start, data and, if none is given, learning rate."""
    given = [
        lib.tensor(value.tolist(), dtype=lib.float64, requires_grad=True) for value in (START, DATA)
    ]
    if rate is None:
        given.append(lib.tensor(0.1, dtype=lib.float64, requires_grad=True))
    result = trained(lib, name, steps, *given[:2], rate or given[2])
    found = lib.autograd.grad(result, given)
    return [result.tolist(), *[each.tolist() for each in found]]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in DETACHES])
def test_a_step_has_the_gradients_of_pytorch(name: str) -> None:
    expected = gradients(torch, name, 1, 0.1)
    for found, wanted in zip(gradients(dovetail, name, 1, 0.1), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)  # its Adam counts in float32


@pytest.mark.parametrize("name", OPTIONS)
def test_the_gradients_through_three_steps_are_those_of_differences(name: str) -> None:
    values = START, DATA, np.array(0.1)
    _, *found = gradients(dovetail, name, 3)
    for position, gradient in enumerate(found):
        direction = np.cos(np.arange(values[position].size)).reshape(values[position].shape)
        ends = []
        for sign in (1, -1):
            moved = list(values)
            moved[position] = moved[position] + sign * 1e-6 * direction
            tensors = [dovetail.tensor(value.tolist(), dtype=dovetail.float64) for value in moved]
            tensors[0].requires_grad_()
            ends.append(trained(dovetail, name, 3, *tensors).item())
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("lib", [dovetail, torch])
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_only_differentiable_steps_take_parameters_that_are_no_leaves(lib: Any) -> None:
    parameter = lib.ones(2, requires_grad=True) * 1
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        lib.optim.SGD([parameter], lr=0.1)
    made = lib.optim.SGD([parameter], lr=0.1, differentiable=True)
    parameter.grad = lib.ones(2)
    with lib.no_grad():
        made.step()
    assert parameter.grad_fn.name() == "AddBackward0"
    plain = lib.ones(2, requires_grad=True)
    plain.grad = lib.ones(2, requires_grad=True)
    lib.optim.SGD([plain], lr=0.1).step()
    assert plain.is_leaf
