"""A warning names the line of the program, however a function of the library is reached."""

from __future__ import annotations

import warnings

import pytest

import dovetail
import dovetail.nn.functional as F
from dovetail import nn


class Plain(dovetail.Tensor):
    """A subclass whose calls go through ``__torch_function__``."""


def with_mode(call):
    class Mode(dovetail.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    with Mode():
        call()


def look_for_anomalies():
    with dovetail.autograd.detect_anomaly():
        pass


x = dovetail.ones(2, 3)

CALLS = {
    "softmax without dim": lambda: F.softmax(x),
    "softmax of a subclass": lambda: F.softmax(x.as_subclass(Plain)),
    "softmax under a mode": lambda: with_mode(lambda: F.softmax(x)),
    "a module within modules": lambda: nn.Sequential(nn.Sequential(nn.Softmax()))(x),
    "sizes of a loss": lambda: F.mse_loss(x, dovetail.ones(3)),
    "sizes of a loss of a subclass": lambda: F.mse_loss(x.as_subclass(Plain), dovetail.ones(3)),
    "sizes of a loss as a module": lambda: nn.MSELoss()(x, dovetail.ones(3)),
    "old flags of a loss": lambda: nn.L1Loss(size_average=True),
    "reduction of kl_div": lambda: F.kl_div(x, x),
    "reduction of kl_div as a module": lambda: nn.KLDivLoss()(x, x),
    "corners of a grid": lambda: F.grid_sample(dovetail.ones(1, 1, 2, 2), x.new_ones(1, 2, 2, 2)),
    "dropout of an odd shape": lambda: nn.Dropout2d()(x),
    "grad of what is no leaf": lambda: (dovetail.ones(2, requires_grad=True) * 2).grad,
    "nothing to initialize": lambda: nn.init.kaiming_uniform_(dovetail.empty(0, 3)),
    "a schedule before its optimizer": lambda: dovetail.optim.lr_scheduler.StepLR(
        dovetail.optim.SGD([dovetail.ones(1, requires_grad=True)], lr=0.1), 1
    ).step(),
    "a checkpoint of nothing": lambda: dovetail.utils.checkpoint.checkpoint(
        dovetail.sin, x, use_reentrant=True, preserve_rng_state=False
    ),
    "dropout of one layer": lambda: nn.LSTM(2, 2, dropout=0.5),
    "anomalies": look_for_anomalies,
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_the_line_of_the_test(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    assert {each.filename for each in caught} == {__file__}
