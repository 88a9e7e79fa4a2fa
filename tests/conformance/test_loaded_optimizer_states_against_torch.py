"""State dicts that an optimizer loads: of older versions of PyTorch, of named parameters, and by
optimizers of programs.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

BOTH = [torch, dovetail]
NAMES = [
    *["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam"],
    *["RMSprop", "Rprop", "SGD"],
]
LATER = ("foreach", "maximize", "capturable", "differentiable", "fused")
COUNTS = ("step", "eta", "mu", "mu_product")


def parameters(library: Any) -> list[Any]:
    values = [library.arange(6.0).reshape(2, 3), library.ones(3)]
    return [library.nn.Parameter(value) for value in values]


def stepped(library: Any, optimizer: Any) -> list[Any]:
    """Return the parameters and state after two steps."""
    given = optimizer.param_groups[0]["params"]
    for _ in range(2):
        for parameter in given:
            parameter.grad = parameter.detach() * 0.5 + 1
        optimizer.step()
    state = [
        (name, isinstance(value, library.Tensor), str(getattr(value, "dtype", ""))[-7:])
        for parameter in given
        for name, value in sorted(optimizer.state[parameter].items())
    ]
    return [[parameter.tolist() for parameter in given], state]


@pytest.mark.parametrize("as_numbers", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_state_of_an_older_version_is_completed(name: str, as_numbers: bool) -> None:
    results = []
    for library in BOTH:
        make = getattr(library.optim, name)
        saved = make(parameters(library))
        stepped(library, saved)
        old = saved.state_dict()
        for option in LATER if name != "Adafactor" else ("foreach",):
            old["param_groups"][0].pop(option, None)
        for state in old["state"].values() if as_numbers else ():
            state.update({key: float(state[key]) for key in COUNTS if key in state})
        optimizer = make(parameters(library))
        optimizer.load_state_dict(old)
        results.append((*stepped(library, optimizer), sorted(optimizer.param_groups[0])))
    (theirs, their_state, their_options), (ours, our_state, our_options) = results
    for expected, found in zip(theirs, ours, strict=True):
        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected))
    assert (our_state, our_options) == (their_state, their_options)


@pytest.mark.parametrize("saved_named", [False, True])
@pytest.mark.parametrize("own_named", [False, True])
def test_saved_names_win_over_own_ones(saved_named: bool, own_named: bool) -> None:
    found = []
    for library in BOTH:
        optimizers = []
        for is_named, letters in ((saved_named, "ab"), (own_named, "cd")):
            given = parameters(library)
            named = list(zip(letters, given, strict=True)) if is_named else given
            optimizers.append(library.optim.SGD(named, lr=0.1))
        optimizers[1].load_state_dict(optimizers[0].state_dict())
        found.append(optimizers[1].param_groups[0].get("param_names"))
    assert found[1] == found[0]


def test_an_optimizer_of_a_program_completes_what_it_loads() -> None:
    """Programs set options in `__setstate__`, count steps in numbers, and add hooks."""
    results = []
    for library in BOTH:

        class Counting(library.optim.Optimizer):  # type: ignore[misc, name-defined]
            def __init__(self, params: Any, lr: float = 0.1) -> None:
                super().__init__(params, {"lr": lr, "new": 1})

            def __setstate__(self, state: dict[str, Any]) -> None:
                super().__setstate__(state)
                for group in self.param_groups:
                    group.setdefault("new", 2)

            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for parameter in group["params"]:
                        state = self.state[parameter]
                        state["step"] = state.get("step", 0) + 1

        saved = Counting(parameters(library))
        saved.step()
        old = saved.state_dict()
        del old["param_groups"][0]["new"]
        optimizer, calls = Counting(parameters(library)), []
        optimizer.register_step_post_hook(lambda *args, calls=calls: calls.append(1))
        optimizer.load_state_dict(old)
        optimizer.step()
        results.append(
            (
                [optimizer.state[each] for each in optimizer.param_groups[0]["params"]],
                {key: value for key, value in optimizer.param_groups[0].items() if key != "params"},
                calls,
            )
        )
    assert results[1] == results[0]
