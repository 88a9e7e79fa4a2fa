"""PyTorch's table of optimizers (`optim_db`) run here: parameters after each step, state dicts,
schedules and error inputs.

A configuration is an entry of the table with one of its inputs and one of the implementations it
supports, or with one of its lists of schedulers. It passes if all dtypes pass.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from op_db_checks import Check, Different, counted, observed
from oracle.outcomes import Closeness, Comparison, outcome
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db
from torch_twins import twin

import dovetail

LIST = Path(__file__).parents[1] / "conformance" / "optim_db_exceptions.yaml"
STEPS = 6
LOADED_AFTER = 3
DTYPES = ("float32", "float64", "complex128")
TOLERANCES = {"float32": 2e-5, "float64": 1e-9, "complex128": 1e-9}
IN_FLOAT32 = 1e-6
"""Tolerance where PyTorch counts its steps in float32 tensors: differentiable and fused steps."""
NUMBERS_IN_FLOAT32 = ("ASGD", "NAdam")
IN_BFLOAT16 = 0.5
"""Tolerance of Muon, whose updates are computed in bfloat16, as a part of the learning rate."""
CHAOTIC = "LBFGS"
"""What it remembers of its last steps are differences of nearly equal numbers."""

WEIGHT = np.array([[0.5, -1.2, 0.3], [1.1, 0.7, -0.4], [-0.9, 0.2, 0.8], [0.1, -0.6, 1.3]])
BIAS = np.array([0.3, -0.2, 0.9, -1.1])
INPUT = np.array([[0.8, -0.5, 1.7, 0.3], [0.2, 1.1, -0.7, -0.9], [-1.3, 0.6, 0.4, 1.2]])


@dataclass(frozen=True)
class Configuration:
    """One way to run an entry.

    Attributes
    ----------
    name
        Says which.
    entry
        Of the table.
    options
        Keywords of the optimizer.
    schedulers
        Functions that make schedulers from the optimizer.
    """

    name: str
    entry: Any
    options: dict[str, Any]
    schedulers: tuple[Callable[..., Any], ...] = ()


def entry_name(entry: Any) -> str:
    """Return the name of an entry's class."""
    return str(entry.optim_cls.__name__)


@functools.cache
def configurations() -> dict[str, Configuration]:
    """Return all configurations by name."""
    made = [each for entry in optim_db for each in _configurations_of(entry)]
    return {each.name: each for each in made}


def _configurations_of(entry: Any) -> Iterator[Configuration]:
    name = entry_name(entry)
    for sample in entry.optim_inputs_func(device="cpu"):
        for flag in (None, *entry.supported_impls):
            options = dict(sample.kwargs) | ({flag: True} if flag else {})
            if flag == "foreach" and isinstance(options.get("lr"), torch.Tensor):
                continue  # which PyTorch refuses, unless it is capturable
            text = f"{name}: {sample.desc}" + (f", {flag}" if flag else "")
            yield Configuration(text, entry, options)
    for position, makers in enumerate(entry.scheduler_inputs):
        yield Configuration(f"{name}: schedulers {position}", entry, {"lr": 0.01}, tuple(makers))


def run(name: str) -> Check:
    """Run one configuration in every dtype."""
    configuration = configurations()[name]
    dtypes = DTYPES if configuration.entry.supports_complex else DTYPES[:2]

    def one(dtype: str) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _compare_runs(configuration, dtype)

    return counted(entry_name(configuration.entry), name, iter(dtypes), one)


# -- one library -----------------------------------------------------------------------------------


class Training:
    """A small problem, its optimizer and its schedulers in one of the libraries."""

    def __init__(self, lib: Any, configuration: Configuration, dtype: str) -> None:
        self.lib = lib
        self.entry = configuration.entry
        kind = getattr(lib, dtype)
        turned = (1 + 0.5j) if dtype.startswith("complex") else 1.0
        arrays = [WEIGHT] if entry_name(self.entry) == "Muon" else [WEIGHT, BIAS]
        self.parameters = [
            lib.nn.Parameter(lib.tensor((each * turned).tolist(), dtype=kind)) for each in arrays
        ]
        self.input = lib.tensor((INPUT * turned).tolist(), dtype=kind)
        options = configuration.options if lib is torch else twin(configuration.options)
        options = {key: _copied(value) for key, value in options.items()}
        made = getattr(lib.optim, entry_name(self.entry))
        if options.get("differentiable"):  # such steps write to leaves no more than others do
            self.parameters = [each.clone() for each in self.parameters]
        self.optimizer = made(self.parameters, **options)
        self.schedulers = [
            scheduler_maker(lib, each)(self.optimizer) for each in configuration.schedulers
        ]

    def loss(self) -> Any:
        """Compute the loss and its gradients."""
        weight, *bias = [each.clone() for each in self.parameters]
        result = weight @ self.input + (bias[0] if bias else 1.0)
        loss = (result * result.conj()).abs().sum()
        gradients = self.lib.autograd.grad(loss, self.parameters)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        return loss.detach()

    def step(self) -> list[float]:
        """Go one step; return the learning rates."""
        if self.entry.step_requires_closure:
            self.optimizer.step(self.loss)
        else:
            self.loss()
            self.optimizer.step()
        for scheduler in self.schedulers:
            if type(scheduler).__name__ == "ReduceLROnPlateau":
                scheduler.step(1.0)
            else:
                scheduler.step()
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def values(self) -> list[Any]:
        """Return the parameters as arrays."""
        return [each.detach().cpu().numpy().copy() for each in self.parameters]

    def take(self, values: list[Any]) -> None:
        """Set the parameters."""
        with self.lib.no_grad():
            for parameter, value in zip(self.parameters, values, strict=True):
                parameter.copy_(self.lib.tensor(value.tolist(), dtype=parameter.dtype))


def _copied(value: Any) -> Any:
    return value.clone() if hasattr(value, "clone") else value


def scheduler_maker(lib: Any, function: Any) -> Any:
    """Return a function of the table that makes a scheduler, with the classes of a library."""
    if lib is torch:
        return function
    schedulers = dovetail.optim.lr_scheduler
    names = {
        name: getattr(schedulers, name, value)
        for name, value in function.__globals__.items()
        if isinstance(value, type) and value.__module__ == "torch.optim.lr_scheduler"
    }
    return types.FunctionType(function.__code__, {**function.__globals__, **names})


# -- both ------------------------------------------------------------------------------------------


def _compare_runs(configuration: Configuration, dtype: str) -> None:
    theirs = Training(torch, configuration, dtype)
    ours = Training(dovetail, configuration, dtype)
    tolerance = TOLERANCES[dtype]
    name = entry_name(configuration.entry)
    if {"differentiable", "fused"} & configuration.options.keys() or name in NUMBERS_IN_FLOAT32:
        tolerance = max(tolerance, IN_FLOAT32)
    if name == "Muon":
        tolerance = IN_BFLOAT16 * float(theirs.optimizer.defaults["lr"])
    if outcome(theirs.step).error is not None:
        _compare_refusals(ours, theirs)
        return
    theirs = Training(torch, configuration, dtype)
    for step in range(STEPS):
        if step == LOADED_AFTER:
            theirs, ours = _exchanged(configuration, dtype, theirs, ours)
        rates = theirs.step(), ours.step()
        if not np.allclose(*rates, rtol=1e-6, atol=0):
            raise Different(f"learning rates {rates[1]} instead of {rates[0]} in step {step}")
        for wanted, found in zip(theirs.values(), ours.values(), strict=True):
            if not np.allclose(found, wanted, rtol=tolerance, atol=tolerance):
                raise Different(
                    f"{found.ravel()[:3]} instead of {wanted.ravel()[:3]} in step {step}"
                )
        states = ours.optimizer.state_dict(), theirs.optimizer.state_dict()
        compare_state(*states, np.inf if name == CHAOTIC else tolerance)
    if repr(ours.optimizer) != repr(theirs.optimizer):
        raise Different(f"{ours.optimizer!r} instead of {theirs.optimizer!r}")


def _compare_refusals(ours: Training, theirs: Training) -> None:
    wanted, found = outcome(theirs.step).error, outcome(ours.step).error
    if type(found) is not type(wanted) or _words(wanted) not in str(found):
        raise Different(f"{found!r} instead of {wanted!r}")


def _words(error: Any) -> str:
    """Return the beginning of an error's text, up to names that differ between libraries."""
    return str(error).partition(",")[0].partition(": [")[0]


def _exchanged(
    configuration: Configuration, dtype: str, theirs: Training, ours: Training
) -> tuple[Training, Training]:
    """Return fresh trainings that go on with the other library's parameters and states."""
    if configuration.schedulers:
        return theirs, ours
    fresh = Training(torch, configuration, dtype), Training(dovetail, configuration, dtype)
    for made, other in zip(fresh, (ours, theirs), strict=True):
        made.take(other.values())
        made.optimizer.load_state_dict(converted(other.optimizer.state_dict(), made.lib))
    return fresh


def converted(value: Any, lib: Any) -> Any:
    """Return a state dict with tensors of the other library."""
    if isinstance(value, (torch.Tensor, dovetail.Tensor)):
        dtype = getattr(lib, str(value.dtype).rpartition(".")[2])
        return lib.tensor(value.detach().cpu().numpy().tolist(), dtype=dtype)
    if isinstance(value, dict):
        return {key: converted(item, lib) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([converted(item, lib) for item in value])
    return value


def compare_state(ours: Any, theirs: Any, tolerance: float) -> None:
    """Compare state dicts by keys, types, dtypes, shapes and values.

    Raises
    ------
    Different
        If they differ.
    """
    close = Closeness(tolerance, tolerance, of_largest=False)
    comparison = Comparison("PyTorch", lambda dtype: close)
    if text := comparison.difference(observed(ours), observed(theirs)):
        raise Different(text)


# -- errors ----------------------------------------------------------------------------------------


def error_inputs() -> dict[str, tuple[Any, Any]]:
    """Return the entry and the error input of every refusal in the table, by name."""
    return {
        f"{entry_name(entry)} refuses: {case.optimizer_error_input.desc}, {position}": (entry, case)
        for entry in optim_db
        for position, case in enumerate(
            entry.optim_error_inputs_func(device="cpu", dtype=torch.float32)
        )
    }


def run_error(name: str) -> Check:
    """Run one error input: the type of the error and the beginning of its text."""
    entry, case = error_inputs()[name]
    return counted(entry_name(entry), name, iter([case]), functools.partial(_compare_error, entry))


def _compare_error(entry: Any, case: Any) -> None:
    given = case.optimizer_error_input
    own = twin_of_parameters(given.params, {}), twin(given.kwargs)  # PyTorch changes the groups
    wanted = _raised(torch, entry, case, given.params, given.kwargs)
    found = _raised(dovetail, entry, case, *own)
    if wanted is None:
        raise Different("PyTorch raises nothing")
    if type(found) is not type(wanted):
        raise Different(f"{found!r} instead of {wanted!r}")
    words = str(wanted).partition(", but got torch")[0].partition("; see github")[0]
    words = words.partition("torch.")[0].rstrip(".")
    if not str(found).startswith(words):
        raise Different(f"{found} instead of {wanted}")


def twin_of_parameters(value: Any, made: dict[int, Any]) -> Any:
    """Return parameters, also in groups and with names, as those of Dovetail; the same ones for
    the same ones.
    """
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            made[id(value)] = dovetail.nn.Parameter(twin(value.detach()))
        return made[id(value)]
    if isinstance(value, dict):
        return {key: twin_of_parameters(item, made) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([twin_of_parameters(item, made) for item in value])
    return value


def _raised(lib: Any, entry: Any, case: Any, params: Any, options: Any) -> Exception | None:
    def call() -> None:
        made = getattr(lib.optim, entry_name(entry))(params, **options)
        if case.error_on == OptimizerErrorEnum.STEP_ERROR:
            for parameter in params:
                parameter.grad = lib.ones_like(parameter)
            made.step()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return outcome(call).error


def exceptions() -> dict[str, str]:
    """Return why what does not pass does not, by name."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8")) or {}
    return {str(name): str(reason) for name, reason in listed.items()}


def run_any(name: str) -> Check:
    """Run a configuration or an error input."""
    return run(name) if name in configurations() else run_error(name)


def main() -> None:
    """Print how much of each entry passes, and what does not."""
    table: dict[str, list[Check]] = {}
    for name in (*configurations(), *error_inputs()):
        check = run_any(name)
        table.setdefault(check.entry, []).append(check)
    for entry, outcomes in table.items():
        kinds = [[each for each in outcomes if (each.count == 1) is kind] for kind in (False, True)]
        good = [f"{sum(each.is_passed for each in kind)} of {len(kind)}" for kind in kinds]
        print(f"{entry:12} {good[0]:>10}, errors {good[1]}")
        for each in outcomes:
            if not each.is_passed:
                print(f"    {each.check}: {each.reason[:300]}")


if __name__ == "__main__":
    main()
