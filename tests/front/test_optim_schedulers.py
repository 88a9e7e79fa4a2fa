"""Learning rate schedules."""

import math
import warnings

import pytest

import dovetail
from dovetail import nn, optim
from dovetail.optim import lr_scheduler


def optimizer(rate=1.0):
    return optim.SGD([nn.Parameter(dovetail.ones(1))], lr=rate)


def rates(make, epochs=7):
    """The learning rates of the first epochs."""
    opt = optimizer()
    scheduler = make(opt)
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(epochs - 1):
        opt.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [opt.param_groups[0]["lr"]]
        seen += scheduler.get_last_lr()
    return seen


SCHEDULES = [
    (lambda opt: lr_scheduler.StepLR(opt, 3, gamma=0.5), [1, 1, 1, 0.5, 0.5, 0.5, 0.25]),
    (
        lambda opt: lr_scheduler.MultiStepLR(opt, [2, 5, 5], gamma=0.5),
        [1, 1, 0.5, 0.5, 0.5, 0.125, 0.125],
    ),
    (lambda opt: lr_scheduler.ExponentialLR(opt, 0.5), [0.5**n for n in range(7)]),
    (
        lambda opt: lr_scheduler.LambdaLR(opt, lambda epoch: 1 / (1 + epoch)),
        [1 / (1 + n) for n in range(7)],
    ),
    (lambda opt: lr_scheduler.LinearLR(opt, 0.2, 1.0, 4), [0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0]),
    (
        lambda opt: lr_scheduler.CosineAnnealingLR(opt, 3, eta_min=0.1),
        [0.1 + 0.9 * (1 + math.cos(math.pi * n / 3)) / 2 for n in range(7)],
    ),
]
every_schedule = pytest.mark.parametrize(
    ("make", "expected"),
    SCHEDULES,
    ids=["Step", "MultiStep", "Exponential", "Lambda", "Linear", "CosineAnnealing"],
)


@every_schedule
def test_a_schedule_has_its_rates(make, expected):
    assert rates(make) == pytest.approx(expected)


@every_schedule
def test_a_schedule_continues_from_its_state(make, expected):
    opt = optimizer()
    scheduler = make(opt)
    for _ in range(3):
        opt.step()
        scheduler.step()
    other_opt = optimizer()
    other = make(other_opt)
    other.load_state_dict(scheduler.state_dict())
    other_opt.load_state_dict(opt.state_dict())
    other_opt.step()
    other.step()
    assert other.get_last_lr() == pytest.approx([expected[4]])


@every_schedule
def test_state_dict_leaves_out_the_optimizer(make, expected):
    state = make(optimizer()).state_dict()
    assert "optimizer" not in state
    assert state["last_epoch"] == 0
    assert state["_last_lr"] == pytest.approx([expected[0]])


def test_schedules_chain():
    opt = optimizer()
    first, second = lr_scheduler.ExponentialLR(opt, 0.5), lr_scheduler.StepLR(opt, 1, gamma=0.1)
    opt.step()
    first.step()
    second.step()
    assert opt.param_groups[0]["lr"] == pytest.approx(0.05)


def test_stepping_before_the_optimizer_warns():
    scheduler = lr_scheduler.StepLR(optimizer(), 1)
    with pytest.warns(
        UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"
    ):
        scheduler.step()


def test_stepping_after_the_optimizer_does_not_warn():
    opt = optimizer()
    scheduler = lr_scheduler.StepLR(opt, 1)
    opt.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()
    assert scheduler.last_epoch == 1


def test_an_explicit_epoch_uses_the_closed_form_and_warns():
    opt = optimizer()
    scheduler = lr_scheduler.StepLR(opt, 2, gamma=0.5)
    opt.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(5)
    assert scheduler.get_last_lr() == [0.25]


def test_get_lr_outside_step_warns():
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()


def test_the_initial_rate_is_kept_in_the_group():
    opt = optimizer(0.3)
    lr_scheduler.ExponentialLR(opt, 0.5)
    assert opt.param_groups[0]["initial_lr"] == 0.3


def test_a_tensor_rate_is_changed_in_place():
    opt = optimizer(dovetail.tensor(1.0))
    rate = opt.param_groups[0]["lr"]
    scheduler = lr_scheduler.ExponentialLR(opt, 0.5)
    opt.step()
    scheduler.step()
    assert opt.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lr_scheduler.StepLR(3, 2), TypeError, "int is not an Optimizer"),
        (
            lambda: lr_scheduler.LambdaLR(optimizer(), [1, 2, 3]),
            ValueError,
            "Expected 1 lr_lambdas, but got 3",
        ),
        (
            lambda: lr_scheduler.LinearLR(optimizer(), 2),
            ValueError,
            "Starting multiplicative factor expected",
        ),
        (
            lambda: lr_scheduler.LinearLR(optimizer(), 0.5, 3),
            ValueError,
            "Ending multiplicative factor expected",
        ),
        (
            lambda: lr_scheduler.StepLR(optimizer(), 2, last_epoch=3),
            KeyError,
            "param 'initial_lr' is not specified",
        ),
    ],
)
def test_wrong_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_lambda_that_is_an_object_is_part_of_the_state():
    class Factor:
        def __init__(self, value):
            self.value = value

        def __call__(self, epoch):
            return self.value

    scheduler = lr_scheduler.LambdaLR(optimizer(), Factor(0.5))
    other = lr_scheduler.LambdaLR(optimizer(), Factor(0.1))
    other.load_state_dict(scheduler.state_dict())
    assert other.lr_lambdas[0].value == 0.5


def test_a_schedule_without_get_lr_says_so():
    with pytest.raises(NotImplementedError):
        lr_scheduler.LRScheduler(optimizer())
