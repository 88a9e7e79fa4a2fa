"""Steps of many small parameters that are taken at once: the same numbers, and states that can be
replaced, saved and copied as ever.
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

pytestmark = pytest.mark.cpu_only(
    reason="small parameters are laid end to end; other devices may take all steps in one launch"
)

SHAPES = [(3,), (2, 3), (), (4,), (1, 5), (2, 1, 2), (7,), *[(2, 2)] * 12]
OPTIONS: dict[str, dict[str, Any]] = {
    "Adadelta": {"weight_decay": 0.1},
    "Adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.1},
    "Adam": {"weight_decay": 0.1, "amsgrad": True, "maximize": True},
    "AdamW": {},
    "Adamax": {"weight_decay": 0.1},
    "ASGD": {"t0": 2, "lambd": 0.1},
    "NAdam": {"decoupled_weight_decay": True, "weight_decay": 0.1},
    "RAdam": {"betas": (0.9, 0.9)},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Rprop": {},
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
}
DTYPES = [dovetail.float32, dovetail.float64, dovetail.complex64]


@pytest.fixture(autouse=True)
def no_kernel_takes_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = type(dovetail.ones(1)._backend.arrays)
    monkeypatch.setattr(arrays, "fused_step", lambda self, rule: None)


class Run:
    """Parameters, their gradients, and an optimizer."""

    def __init__(self, name: str, dtype: Any = dovetail.float32, **options: Any) -> None:
        self.rng = np.random.default_rng(0)
        self.dtype = dtype
        self.parameters = [nn.Parameter(self.draw(shape)) for shape in SHAPES]
        self.optimizer: Any = getattr(optim, name)(self.parameters, **options)

    def draw(self, shape: tuple[int, ...]) -> Any:
        values = self.rng.standard_normal((2, *shape))
        values = values[0] + 1j * values[1] if self.dtype.is_complex else values[0]
        return dovetail.tensor(np.asarray(values), dtype=self.dtype)

    def step(self, times: int = 1, without: int | None = None) -> Run:
        for _ in range(times):
            for place, parameter in enumerate(self.parameters):
                gradient = self.draw(tuple(parameter.shape))
                parameter.grad = None if place == without else gradient
            self.optimizer.step()
        return self

    @property
    def bits(self) -> list[bytes]:
        """The parameters and the tensors of the state, bit by bit."""
        state = self.optimizer.state
        tensors = [
            value
            for parameter in self.parameters
            for value in (parameter, *state[parameter].values())
        ]
        return [np.ascontiguousarray(each.detach().cpu().numpy()).tobytes() for each in tensors]

    @property
    def is_joined(self) -> bool:
        """Whether states of different parameters lie in the same memory."""
        states = [self.optimizer.state[parameter] for parameter in self.parameters[-2:]]
        places = [
            [value.untyped_storage().data_ptr() for value in state.values()] for state in states
        ]
        return places[0] == places[1] != []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_at_once_give_the_bits_of_steps_one_by_one(name: str, dtype: Any) -> None:
    one_by_one = Run(name, dtype, **OPTIONS[name], foreach=False).step(5)
    at_once = Run(name, dtype, **OPTIONS[name]).step(5)
    assert at_once.bits == one_by_one.bits
    assert at_once.is_joined
    assert not one_by_one.is_joined


@pytest.mark.parametrize("name", ["Adam", "SGD", "NAdam"])
def test_a_parameter_without_gradient_is_left_out(name: str) -> None:
    runs = [
        Run(name, **OPTIONS[name], foreach=foreach)
        .step(2)
        .step(1, without=1)
        .step(2)
        .step(2, without=3)
        .step(1)
        for foreach in (False, None)
    ]
    assert runs[1].bits == runs[0].bits


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
    assert runs[1].bits == runs[0].bits


def test_copies_and_pickles_go_on_by_themselves() -> None:
    run = Run("Adam").step(3)
    before = run.bits
    for made in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert made.bits == before
        made.step(2)
        assert made.bits != before
        assert made.is_joined
        assert run.bits == before


def test_a_state_dict_that_is_copied_stays_as_it_was() -> None:
    run = Run("Adam").step(3)
    saved = copy.deepcopy(run.optimizer.state_dict())
    kept = saved["state"][0]["exp_avg"].tolist()
    run.step(2)
    assert saved["state"][0]["exp_avg"].tolist() == kept
    assert run.optimizer.state_dict()["state"][0]["exp_avg"].tolist() != kept


def test_a_saved_state_holds_each_number_once(tmp_path: Any) -> None:
    sizes = []
    for foreach in (False, None):
        run = Run("Adam", foreach=foreach).step(2)
        path = tmp_path / f"{foreach}"
        dovetail.save(run.optimizer.state_dict(), path)
        other = Run("Adam", foreach=foreach)
        other.optimizer.load_state_dict(dovetail.load(path))
        assert [state["exp_avg"].tolist() for state in other.optimizer.state.values()] == [
            state["exp_avg"].tolist() for state in run.optimizer.state.values()
        ]
        sizes.append(path.stat().st_size)
    assert sizes[1] <= sizes[0] * 1.1


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
    assert results[1] == results[0]


def test_parameters_of_several_kinds_are_taken_together_by_kind() -> None:
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
        results.append([each.detach().cpu().numpy().tobytes() for each in parameters])
    assert results[1] == results[0]


def test_one_step_counts_as_one_write_to_each_parameter() -> None:
    run = Run("Adam").step(1)
    before = [parameter._version for parameter in run.parameters]
    run.step(1)
    assert [parameter._version for parameter in run.parameters] == [each + 1 for each in before]


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
    assert run.bits == plain.bits


def test_parameters_that_are_others_in_every_step_keep_their_own_memory() -> None:
    run = Run("Adam")
    for place in (0, 1, 2, 3, 0, 1):
        run.step(1, without=place)
        assert not run.is_joined
    assert run.step(2).is_joined


@pytest.mark.cpu_only(reason="memory of the cpu is shared")
def test_sums_of_adagrad_can_be_shared_before_and_after_steps() -> None:
    run = Run("Adagrad", **OPTIONS["Adagrad"])
    plain = Run("Adagrad", **OPTIONS["Adagrad"], foreach=False)
    for each in (run, plain):
        each.optimizer.share_memory()
        each.step(3)
        each.optimizer.share_memory()
        each.step(3)
    assert run.bits == plain.bits
    assert run.optimizer.state[run.parameters[0]]["sum"].is_shared()


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
    results = []
    for foreach in (False, None):
        run = Run("AdamW", foreach=foreach).step(2)
        more = [nn.Parameter(run.draw((3,))) for _ in range(6)]
        run.optimizer.add_param_group({"params": more, "lr": 0.1})
        run.parameters += more
        results.append(run.step(3).bits)
    assert results[1] == results[0]


def test_an_optimizer_that_is_no_longer_used_is_freed_with_its_vectors() -> None:
    import gc
    import weakref

    run = Run("Adam").step(2)
    vector = weakref.ref(run.optimizer._vectors)
    del run
    gc.collect()
    assert vector() is None
