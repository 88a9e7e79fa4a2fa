"""`optim.swa_utils` beside PyTorch's: averages of models, and their batch normalisations."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

BOTH = (torch, dovetail)

AVERAGES: dict[str, Any] = {
    "mean": lambda s: {},
    "mean of buffers, too": lambda s: {"use_buffers": True},
    "mean of one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "mean of many": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "exponential of one": lambda s: {"avg_fn": s.get_ema_avg_fn(0.7)},
    "exponential of many": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.7)},
    "exponential of buffers, too": lambda s: {
        "multi_avg_fn": s.get_ema_multi_avg_fn(0.7),
        "use_buffers": True,
    },
    "a function": lambda s: {"avg_fn": lambda mean, value, count: (mean + value) / 2 + count},
}


def model_of(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
    with t.no_grad():
        for position, parameter in enumerate(model.parameters()):
            count = parameter.numel()
            parameter.copy_(t.arange(count).reshape(parameter.shape) / count - 0.1 * position)
    return model


def batches(t: Any) -> list[Any]:
    return [t.sin(t.arange(12.0) * (k + 1)).reshape(4, 3) for k in range(4)]


def state_of(model: Any) -> dict[str, Any]:
    return {name: value.tolist() for name, value in model.state_dict().items()}


def flat(value: Any) -> list[float]:
    if not isinstance(value, list):
        return [value]
    return [number for each in value for number in flat(each)]


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_a_model_that_learns_agree(name: str) -> None:
    runs = []
    for t in BOTH:
        utils = t.optim.swa_utils
        model = model_of(t)
        average = utils.AveragedModel(model, **AVERAGES[name](utils))
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        for batch in batches(t):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            average.update_parameters(model)
        utils.update_bn([(each, 0) for each in batches(t)], average)
        runs.append((state_of(average), average(batches(t)[0]).tolist(), average.training))
    assert list(runs[1][0]) == list(runs[0][0])
    for key, wanted in runs[0][0].items():
        assert flat(runs[1][0][key]) == pytest.approx(flat(wanted), rel=1e-4, abs=1e-5)
    assert flat(runs[1][1]) == pytest.approx(flat(runs[0][1]), rel=1e-4, abs=1e-5)
    assert runs[1][2] == runs[0][2]


def test_batch_normalisations_are_computed_anew_alike() -> None:
    runs = []
    for t in BOTH:
        model = model_of(t).eval()
        t.optim.swa_utils.update_bn(batches(t), model)
        assert model[1].momentum == 0.1
        assert not model.training
        runs.append(state_of(model))
    for key, wanted in runs[0].items():
        assert flat(runs[1][key]) == pytest.approx(flat(wanted), rel=1e-5, abs=1e-6)


WRONG: dict[str, Any] = {
    "decay": lambda t, s: s.get_ema_avg_fn(2.0),
    "decay of many": lambda t, s: s.get_ema_multi_avg_fn(-1),
    "two functions": lambda t, s: s.AveragedModel(model_of(t), avg_fn=max, multi_avg_fn=max),
    "strategy": lambda t, s: s.SWALR(t.optim.SGD(model_of(t).parameters()), 0.1, 3, "x"),
    "epochs": lambda t, s: s.SWALR(t.optim.SGD(model_of(t).parameters()), 0.1, -1),
    "rates": lambda t, s: s.SWALR(t.optim.SGD(model_of(t).parameters()), [0.1, 0.2]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_alike(name: str) -> None:
    raised = []
    for t in BOTH:
        with pytest.raises((ValueError, AssertionError)) as info:
            WRONG[name](t, t.optim.swa_utils)
        raised.append(info.value)
    assert type(raised[1]) is type(raised[0])
    assert str(raised[0]).rstrip(".") in str(raised[1])
