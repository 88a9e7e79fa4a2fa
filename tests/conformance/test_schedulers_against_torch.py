"""Every schedule of `optim.lr_scheduler` and `swa_utils.SWALR` beside PyTorch's: rates and momenta
over fifty steps, state dicts, resumption, errors and warnings.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import dovetail

BOTH = (torch, dovetail)


class Falling:
    """A factor of the rate that is an object, whose attributes state dicts keep."""

    def __init__(self) -> None:
        self.factor = 0.9

    def __call__(self, epoch: int) -> float:
        return self.factor**epoch


def sequence(s: Any, o: Any) -> Any:
    parts = [s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 9)]
    return s.SequentialLR(o, parts, [5, 20])


def nested(s: Any, o: Any) -> Any:
    first = s.ChainedScheduler([s.LinearLR(o, 0.2, 1.0, 6), s.ConstantLR(o, 0.5, 4)])
    return s.SequentialLR(o, [first, s.PolynomialLR(o, 30, 2.0)], [12])


SCHEDULES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR of an object": lambda s, o: s.LambdaLR(o, [Falling(), Falling()]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "StepLR": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 30]),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.3, 11),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 14),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.97),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 20, 1.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 8, eta_min=0.05),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "CosineAnnealingWarmRestarts, even": lambda s, o: s.CosineAnnealingWarmRestarts(o, 6),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 6, 9),
    "CyclicLR, halved": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 0.9, 5, mode="triangular2"),
    "CyclicLR, falling": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 5, mode="exp_range", gamma=0.98),
    "CyclicLR, a function": lambda s, o: s.CyclicLR(
        o, 0.1, 0.9, 5, scale_fn=lambda x: 1 / (1 + x), cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.8, 60),
    "OneCycleLR, three phases": lambda s, o: s.OneCycleLR(
        o, [0.8, 0.5], epochs=10, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"
    ),
    "SequentialLR": sequence,
    "SequentialLR, nested": nested,
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)], o
    ),
    "SWALR": lambda s, o: __import__(
        s.__name__.replace("lr_scheduler", "swa_utils"), fromlist=["SWALR"]
    ).SWALR(o, [0.01, 0.02], 12),
    "SWALR, linear": lambda s, o: __import__(
        s.__name__.replace("lr_scheduler", "swa_utils"), fromlist=["SWALR"]
    ).SWALR(o, 0.01, 7, "linear"),
}
# PyTorch takes the first step of a nested schedule as one that comes too early.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Detected call of .*In PyTorch 1.1.0 and later:UserWarning"
)
CLOSED = ("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR")


def made(t: Any, kind: str = "SGD", rate: Any = 0.8) -> Any:
    """Return an optimizer with two groups."""
    first, second = (t.nn.Parameter(t.ones(2)) for _ in range(2))
    momentum = {"momentum": 0.9} if kind == "SGD" else {}
    groups = [{"params": [first]}, {"params": [second], "lr": rate / 2}]
    return getattr(t.optim, kind)(groups, lr=rate, **momentum)


def options(optimizer: Any) -> list[Any]:
    """Return the rates and momenta of the groups."""
    found = []
    for group in optimizer.param_groups:
        found += [float(group["lr"]), group.get("momentum", 0.0), *group.get("betas", ())]
    return found


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_momenta_agree_over_fifty_steps(name: str, kind: str) -> None:
    runs: list[Any] = []
    for t in BOTH:
        optimizer = made(t, kind)
        scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
        seen = [options(optimizer)]
        for _ in range(50):
            optimizer.step()
            scheduler.step()
            seen.append(options(optimizer))
            assert [float(each) for each in scheduler.get_last_lr()] == seen[-1][
                :: len(seen[0]) // 2
            ]
        runs.append((seen, scheduler.state_dict()))
    for wanted, found in zip(runs[0][0], runs[1][0], strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-14)
    if "nested" not in name:  # of those, PyTorch counts the first steps otherwise
        assert plain(runs[1][1]) == plain(runs[0][1])


def plain(value: Any) -> Any:
    """Return a state with numbers that may differ by rounding."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return pytest.approx(value, rel=1e-9, abs=1e-14) if isinstance(value, float) else value


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_from_the_state_of_pytorchs(name: str) -> None:
    theirs = made(torch)
    scheduler = SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    for _ in range(13):
        theirs.step()
        scheduler.step()
    ours = made(dovetail)
    resumed = SCHEDULES[name](dovetail.optim.lr_scheduler, ours)
    resumed.load_state_dict(scheduler.state_dict())
    ours.load_state_dict(theirs.state_dict() | {"state": {}})
    for _ in range(10):
        for optimizer, each in ((theirs, scheduler), (ours, resumed)):
            optimizer.step()
            each.step()
        assert options(ours) == pytest.approx(options(theirs), rel=1e-9)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "Chained" not in name])
def test_a_rate_that_is_a_tensor_stays_that_tensor(name: str) -> None:
    runs = []
    for t in BOTH:
        optimizer = made(t, rate=t.tensor(0.8))
        rate = optimizer.param_groups[0]["lr"]
        scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
        seen = []
        for _ in range(12):
            optimizer.step()
            scheduler.step()
            seen += options(optimizer)
        assert optimizer.param_groups[0]["lr"] is rate
        runs.append(seen)
    assert runs[1] == pytest.approx(runs[0], rel=1e-5)


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", [*CLOSED, "CosineAnnealingLR", "CosineAnnealingWarmRestarts"])
@pytest.mark.parametrize("epoch", [0, 3, 17, 40])
def test_an_epoch_that_is_given_takes_the_closed_form(name: str, epoch: int) -> None:
    rates = []
    for t in BOTH:
        optimizer = made(t)
        scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
        optimizer.step()
        scheduler.step(epoch)
        rates.append(options(optimizer))
    assert rates[1] == pytest.approx(rates[0], rel=1e-9)


METRICS = [5.0, 4.0, 4.5, 4.2, 4.1, 4.0, 3.99999, 3.0, 3.5, 3.5, 3.5, 3.5, 3.5, 2.0, 2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    "given",
    [
        {"patience": 2},
        {"patience": 1, "cooldown": 2, "factor": 0.5},
        {"mode": "max", "patience": 2, "threshold": 0.1, "threshold_mode": "abs"},
        {"patience": 0, "min_lr": [0.3, 0.2], "eps": 1e-3, "threshold_mode": "abs"},
    ],
)
def test_a_plateau_reduces_the_rates_alike(given: dict[str, Any]) -> None:
    runs: list[Any] = []
    for t in BOTH:
        optimizer = made(t)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **given)
        seen = []
        for metric in METRICS:
            scheduler.step(t.tensor(metric))
            seen += options(optimizer)
        runs.append((seen, plain(scheduler.state_dict())))
    assert runs[1][0] == pytest.approx(runs[0][0])
    assert runs[1][1] == runs[0][1]


WRONG = {
    "factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "mode": lambda s, o: s.ReduceLROnPlateau(o, mode="x"),
    "threshold mode": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    "least rates": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1, 2, 3]),
    "no optimizer": lambda s, o: s.ReduceLROnPlateau(3),
    "constant": lambda s, o: s.ConstantLR(o, 2),
    "start of a line": lambda s, o: s.LinearLR(o, start_factor=2),
    "end of a line": lambda s, o: s.LinearLR(o, end_factor=2),
    "cycle mode": lambda s, o: s.CyclicLR(o, 0.1, 1.0, mode="x"),
    "cycle rates": lambda s, o: s.CyclicLR(o, [0.1, 0.2, 0.3], 1.0),
    "cycle of nothing": lambda s, o: s.CyclicLR(3, 0.1, 1.0),
    "cycle without length": lambda s, o: s.OneCycleLR(o, 1.0),
    "negative length": lambda s, o: s.OneCycleLR(o, 1.0, -1),
    "broken length": lambda s, o: s.OneCycleLR(o, 1.0, 1.5),
    "negative epochs": lambda s, o: s.OneCycleLR(o, 1.0, epochs=-1, steps_per_epoch=2),
    "negative steps": lambda s, o: s.OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=-2),
    "part": lambda s, o: s.OneCycleLR(o, 1.0, 10, pct_start=2.0),
    "strategy": lambda s, o: s.OneCycleLR(o, 1.0, 10, anneal_strategy="x"),
    "greatest rates": lambda s, o: s.OneCycleLR(o, [1.0, 2.0, 3.0], 10),
    "period": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "factor of periods": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "least rate": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "x"),
    "negative epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "no schedules": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o)], [1]),
    "plateau in a sequence": lambda s, o: s.SequentialLR(
        o, [s.ReduceLROnPlateau(o), s.ConstantLR(o)], [1]
    ),
    "numbers in a sequence": lambda s, o: s.SequentialLR(o, [1, 2], [1]),
    "empty chain": lambda s, o: s.ChainedScheduler([]),
    "plateau in a chain": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "functions": lambda s, o: s.MultiplicativeLR(o, [1, 2, 3]),
    "order": lambda s, o: s.StepLR(o, 2).step(),
    "epoch": lambda s, o: (o.step(), s.StepLR(o, 2).step(3)),
    "epoch of a plateau": lambda s, o: s.ReduceLROnPlateau(o).step(1.0, 3),
    "get_lr": lambda s, o: s.StepLR(o, 3).get_lr(),
    "get_lr of a cycle": lambda s, o: s.CyclicLR(o, 0.1, 1.0).get_lr(),
    "resuming": lambda s, o: s.StepLR(o, 2, last_epoch=3),
    "resuming a cycle": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, last_epoch=3),
    "the base class": lambda s, o: s.LRScheduler(o),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_or_warned_of_alike(name: str) -> None:
    raised: list[Any] = []
    for t in BOTH:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(Exception) as info:
                WRONG[name](t.optim.lr_scheduler, made(t))
        raised.append(info.value)
    wanted, found = raised
    assert type(found) is type(wanted)
    words = str(wanted.args[0] if wanted.args else "").split("In PyTorch")[0]
    assert words.split("Please open")[0].split("\n")[0].rstrip(". ") in str(found)


def test_too_many_steps_of_one_cycle_are_refused_alike() -> None:
    for t in BOTH:
        optimizer = made(t)
        scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 3)
        with pytest.raises(ValueError, match="Tried to step 4 times"):
            for _ in range(5):
                optimizer.step()
                scheduler.step()


def test_schedules_of_two_optimizers_are_refused_alike() -> None:
    for t in BOTH:
        s, one, other = t.optim.lr_scheduler, made(t), made(t)
        parts = [s.ConstantLR(one), s.ConstantLR(other)]
        with pytest.raises(ValueError, match="scheduler ConstantLR at index 1 has SGD"):
            s.ChainedScheduler(parts)
        with pytest.raises(ValueError, match="scheduler ConstantLR at index 1 has SGD"):
            s.SequentialLR(one, parts, [1])


def test_a_step_that_was_replaced_is_warned_of_alike() -> None:
    for t in BOTH:
        optimizer = made(t)
        scheduler = t.optim.lr_scheduler.StepLR(optimizer, 2)
        optimizer.step = lambda: None
        with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler"):
            scheduler.step()


def test_a_step_that_one_optimizer_was_given_before_is_counted() -> None:
    optimizer = made(dovetail)
    optimizer.step = lambda: None
    scheduler = dovetail.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    scheduler.step()
    assert scheduler.last_epoch == 1


def test_a_chain_in_a_sequence_begins_with_its_first_rates_as_pytorchs_does_not() -> None:
    rates = []
    for t in BOTH:
        s, optimizer = t.optim.lr_scheduler, made(t)
        chain = s.ChainedScheduler([s.ExponentialLR(optimizer, 0.5)])
        s.SequentialLR(optimizer, [chain, s.ConstantLR(optimizer)], [3])
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.4, 0.8]
