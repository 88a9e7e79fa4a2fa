"""Steps that a kernel takes for all parameters of a group: the numbers of the rule, and states that
can be replaced, saved and copied.
"""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import nn, optim

pytestmark = pytest.mark.cpu_only(reason="other devices have tests of their kernels")

SHAPES = [(3,), (2, 3), (), (4,), (1, 5), (2, 1, 2), (7,), *[(2, 2)] * 12]
OPTIONS: dict[str, dict[str, Any]] = {
    "Adam": {"weight_decay": 0.1, "maximize": True},
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
}


class Run:
    """Parameters, their gradients, and an optimizer."""

    def __init__(self, name: str, **options: Any) -> None:
        self.rng = np.random.default_rng(0)
        self.parameters = [nn.Parameter(self.draw(shape)) for shape in SHAPES]
        self.optimizer: Any = getattr(optim, name)(self.parameters, **options)

    def draw(self, shape: tuple[int, ...]) -> Any:
        return dovetail.tensor(self.rng.standard_normal(shape), dtype=dovetail.float32)

    def step(self, times: int = 1, without: int | None = None) -> Run:
        for _ in range(times):
            for place, parameter in enumerate(self.parameters):
                gradient = self.draw(tuple(parameter.shape))
                parameter.grad = None if place == without else gradient
            self.optimizer.step()
        return self

    @property
    def values(self) -> list[list[Any]]:
        """The parameters and the tensors of the state."""
        state = self.optimizer.state
        return [
            value.tolist()
            for parameter in self.parameters
            for value in (parameter, *state[parameter].values())
        ]


def are_close(first: Run, second: Run) -> bool:
    pairs = zip(first.values, second.values, strict=True)
    return all([np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in pairs])


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_parameter_without_gradient_is_left_out(name: str) -> None:
    by_rule, by_kernel = [
        Run(name, **OPTIONS[name], foreach=foreach)
        .step(2)
        .step(1, without=1)
        .step(2)
        .step(2, without=3)
        .step(1)
        for foreach in (False, None)
    ]
    assert are_close(by_rule, by_kernel)


def replaced(run: Run) -> None:
    for state in run.optimizer.state.values():
        state.update({name: value.clone() for name, value in state.items()})


def with_other_memory(run: Run) -> None:
    for state in run.optimizer.state.values():
        for value in state.values():
            value.data = value.data * 1


def written(run: Run) -> None:
    run.optimizer.state[run.parameters[1]]["exp_avg"].fill_(0.5)
    run.optimizer.state[run.parameters[0]]["exp_avg"].data[...] = 0.25


def loaded(run: Run) -> None:
    file = io.BytesIO(pickle.dumps(run.optimizer.state_dict()))
    run.optimizer.load_state_dict(pickle.load(file))


def parameters_with_other_memory(run: Run) -> None:
    for parameter in run.parameters:
        parameter.data = parameter.data * 2


def parameters_written(run: Run) -> None:
    with dovetail.no_grad():
        for parameter in run.parameters:
            parameter.mul_(2)


def cleared(run: Run) -> None:
    run.optimizer.state.clear()


def one_cleared(run: Run) -> None:
    del run.optimizer.state[run.parameters[2]]


def rate(run: Run) -> None:
    run.optimizer.param_groups[0]["lr"] = 0.5


def transposed_gradient(run: Run) -> None:
    parameter = run.parameters[1]
    parameter.data = parameter.data.T.contiguous().T


CHANGES = [
    replaced,
    with_other_memory,
    written,
    loaded,
    parameters_with_other_memory,
    parameters_written,
    cleared,
    one_cleared,
    rate,
    transposed_gradient,
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_between_steps_counts(change: Any) -> None:
    runs = []
    for foreach in (False, None):
        run = Run("Adam", weight_decay=0.1, foreach=foreach).step(3)
        change(run)
        runs.append(run.step(3))
    assert are_close(*runs)


def test_copies_and_pickles_go_on_by_themselves() -> None:
    run = Run("Adam").step(3)
    before = run.values
    for made in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert made.values == before
        made.step(2)
        assert made.values != before
        assert run.values == before


def test_a_state_dict_that_is_copied_stays_as_it_was() -> None:
    run = Run("Adam").step(3)
    saved = copy.deepcopy(run.optimizer.state_dict())
    kept = saved["state"][0]["exp_avg"].tolist()
    run.step(2)
    assert saved["state"][0]["exp_avg"].tolist() == kept
    assert run.optimizer.state_dict()["state"][0]["exp_avg"].tolist() != kept


def test_parameters_that_share_memory_take_their_steps_one_by_one() -> None:
    results = []
    for foreach in (False, None):
        memory = dovetail.ones(8)
        parameters = [nn.Parameter(memory[:4]), nn.Parameter(memory[2:6])]
        parameters += [nn.Parameter(dovetail.ones(2)) for _ in range(4)]
        optimizer = optim.Adam(parameters, lr=0.1, foreach=foreach)
        for parameter in parameters:
            parameter.grad = dovetail.ones_like(parameter)
        optimizer.step()
        results.append(memory.tolist())
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_parameters_of_several_kinds_take_their_steps() -> None:
    results = []
    for foreach in (False, None):
        rng = np.random.default_rng(0)
        parameters = [
            nn.Parameter(dovetail.tensor(rng.standard_normal(size), dtype=dtype))
            for size in (3, 5, 70_000, 4, 2)
            for dtype in (dovetail.float32, dovetail.float64)
        ]
        optimizer = optim.Adam(parameters, lr=0.1, foreach=foreach)
        for _ in range(3):
            for parameter in parameters:
                parameter.grad = parameter.detach() * 2
            optimizer.step()
        results.append([each.tolist() for each in parameters])
    for by_rule, by_kernel in zip(*results, strict=True):
        np.testing.assert_allclose(by_kernel, by_rule, rtol=1e-5, atol=1e-6)


def test_a_backward_through_a_parameter_that_a_step_changed_is_refused() -> None:
    run = Run("Adam").step(1)
    loss = (run.parameters[0] ** 2).sum()
    run.step(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_modes_see_the_operators_of_a_step() -> None:
    from dovetail.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    run = Run("Adam")
    plain = Run("Adam", foreach=False)
    run.step(2)
    plain.step(2)
    with Mode():
        run.optimizer.step()
    assert seen.count("aten.addcdiv_.default") == len(run.parameters)
    plain.optimizer.step()
    assert are_close(run, plain)


def test_parameters_on_the_meta_device_take_their_steps() -> None:
    parameters = [nn.Parameter(dovetail.ones(3, device="meta")) for _ in range(6)]
    optimizer = optim.Adam(parameters)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = dovetail.ones_like(parameter)
        optimizer.step()
    assert optimizer.state[parameters[0]]["step"].item() == 3


def test_storages_of_parameters_can_be_resized_between_steps() -> None:
    run = Run("Adam").step(3)
    run.parameters[0].data.resize_(10)
    run.step(1)


def test_a_group_that_is_added_later_has_its_own_steps() -> None:
    runs = []
    for foreach in (False, None):
        run = Run("AdamW", foreach=foreach).step(2)
        more = [nn.Parameter(run.draw((3,))) for _ in range(6)]
        run.optimizer.add_param_group({"params": more, "lr": 0.1})
        run.parameters += more
        runs.append(run.step(3))
    assert are_close(*runs)
