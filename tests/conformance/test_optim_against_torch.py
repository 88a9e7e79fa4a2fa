"""`dovetail.optim` beside `torch.optim`: parameters after some steps, state dicts, schedules and
errors.
"""

import warnings

import numpy as np
import pytest
import torch

import dovetail

BOTH = (torch, dovetail)

OPTIMIZERS = {
    "SGD": lambda o, p: o.SGD(p, lr=0.1),
    "SGD with weight decay": lambda o, p: o.SGD(p, lr=0.1, weight_decay=0.1),
    "SGD with momentum": lambda o, p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.3),
    "SGD nesterov": lambda o, p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "SGD upwards": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.1, maximize=True),
    "Adam": lambda o, p: o.Adam(p, lr=0.05),
    "Adam with weight decay": lambda o, p: o.Adam(
        p, lr=0.05, weight_decay=0.1, betas=(0.8, 0.9), eps=1e-3
    ),
    "Adam amsgrad upwards": lambda o, p: o.Adam(p, lr=0.05, amsgrad=True, maximize=True),
    "AdamW": lambda o, p: o.AdamW(p, lr=0.05, weight_decay=0.2),
    "RMSprop": lambda o, p: o.RMSprop(p, lr=0.05, weight_decay=0.1),
    "RMSprop centered": lambda o, p: o.RMSprop(p, lr=0.05, momentum=0.5, centered=True),
    "Adagrad": lambda o, p: o.Adagrad(
        p, lr=0.2, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.1
    ),
}


def start(t, dtype="float64"):
    values = np.random.default_rng(0).standard_normal((3, 2))
    return [
        t.nn.Parameter(t.tensor(values.astype(dtype))),
        t.nn.Parameter(t.tensor(values[0].astype(dtype))),
    ]


def train(t, optimizer, parameters, steps=10):
    for _ in range(steps):
        optimizer.zero_grad()
        a, b = parameters
        ((a * a - a).sum() + (a * b).sum() ** 2 + (b * b * b * b).sum()).backward()
        t.nn.utils.clip_grad_norm_(parameters, 3.0)
        optimizer.step()


def as_lists(value):
    """A state dict with tensors as nested lists."""
    if hasattr(value, "tolist"):
        return pytest.approx(np.asarray(value.tolist()), rel=1e-6, abs=1e-7)
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_lists(item) for item in value)
    return value


def plain(value):
    if hasattr(value, "tolist"):
        return np.asarray(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameters_and_state_agree_after_ten_steps(name, dtype):
    results = []
    for t in BOTH:
        parameters = start(t, dtype)
        optimizer = OPTIMIZERS[name](t.optim, parameters)
        train(t, optimizer, parameters)
        results.append(([p.detach().cpu().numpy() for p in parameters], optimizer.state_dict()))
    (theirs, their_state), (ours, our_state) = results
    tolerance = 1e-9 if dtype == "float64" else 1e-5
    for p, q in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(q, p, rtol=tolerance, atol=tolerance)
    assert our_state["param_groups"] == their_state["param_groups"]
    if dtype == "float64":
        assert plain(our_state["state"]) == as_lists(their_state["state"])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_printed_forms_agree(name):
    theirs, ours = (repr(OPTIMIZERS[name](t.optim, start(t))) for t in BOTH)
    assert ours == theirs


def test_a_small_network_learns_alike():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((32, 8)).astype(np.float32), rng.integers(0, 4, 32)
    initial = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    ).state_dict()
    losses = []
    for t in BOTH:
        model = t.nn.Sequential(t.nn.Linear(8, 16), t.nn.ReLU(), t.nn.Linear(16, 4))
        model.load_state_dict(
            {key: t.from_numpy(value.numpy().copy()) for key, value in initial.items()}
        )
        optimizer = t.optim.AdamW(model.named_parameters(), lr=0.01)
        scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
        seen = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(
                model(t.tensor(x)), t.tensor(y), label_smoothing=0.1
            )
            loss.backward()
            optimizer.step()
            scheduler.step()
            seen.append(loss.item())
        losses.append(seen)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[1][-1] < losses[1][0]


SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5]),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.7),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 4),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 3, eta_min=0.1),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_agree(name):
    results = []
    for t in BOTH:
        optimizer = t.optim.SGD(start(t), lr=0.8)
        scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
        seen = []
        for _ in range(10):
            optimizer.step()
            scheduler.step()
            seen += scheduler.get_last_lr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step(4)
        seen += scheduler.get_last_lr()
        results.append((seen, sorted(scheduler.state_dict())))
    assert results[1][0] == pytest.approx(results[0][0], rel=1e-9)
    assert results[1][1] == results[0][1]


def shared(t):
    p = start(t)
    return t.optim.SGD([{"params": p}, {"params": p}])


ERRORS = {
    "empty": (lambda t: t.optim.SGD([]), "optimizer got an empty parameter list"),
    "tensor": (
        lambda t: t.optim.SGD(start(t)[0]),
        "params argument given to the optimizer should be an iterable of",
    ),
    "non-leaf": (lambda t: t.optim.SGD([start(t)[0] * 2]), "can't optimize a non-leaf Tensor"),
    "twice": (shared, "some parameters appear in more than one parameter group"),
    "int": (
        lambda t: t.optim.SGD([3]),
        "optimizer can only optimize Tensors, but one of the params is int",
    ),
    "set": (
        lambda t: t.optim.SGD([{"params": set(start(t))}]),
        "the ordering of tensors in sets will change between runs",
    ),
    "group": (
        lambda t: t.optim.SGD(start(t)).add_param_group(3),
        "param_group must be a dict, but got <class 'int'>",
    ),
    "half named": (
        lambda t: t.optim.SGD([("a", start(t)[0]), start(t)[1]]),
        "should be with/without names",
    ),
    "rate": (lambda t: t.optim.SGD(start(t), lr=-1), "Invalid learning rate: -1"),
    "nesterov": (
        lambda t: t.optim.SGD(start(t), nesterov=True),
        "Nesterov momentum requires a momentum and zero damp",
    ),
    "beta": (
        lambda t: t.optim.Adam(start(t), betas=(0.5, 1.0)),
        "Invalid beta parameter at index 1: 1.0",
    ),
    "epsilon": (lambda t: t.optim.RMSprop(start(t), eps=-1), "Invalid epsilon value: -1"),
    "accumulator": (
        lambda t: t.optim.Adagrad(start(t), initial_accumulator_value=-1),
        "Invalid initial_accumulator_value value: -1",
    ),
    "groups differ": (
        lambda t: t.optim.SGD(start(t)).load_state_dict({"state": {}, "param_groups": []}),
        "loaded state dict has a different number of parameter groups",
    ),
    "sizes differ": (
        lambda t: t.optim.SGD(start(t)).load_state_dict(
            {"state": {}, "param_groups": [{"params": [0]}]}
        ),
        "that doesn't match the size of optimizer's group",
    ),
    "no step": (lambda t: t.optim.Optimizer(start(t), {}).step(), ""),
    "flags": (
        lambda t: t.optim.Adam(start(t), foreach=True, fused=True),
        "`fused` and `foreach` cannot be `True` toge",
    ),
    "no optimizer": (lambda t: t.optim.lr_scheduler.StepLR(3, 1), "int is not an Optimizer"),
    "lambdas": (
        lambda t: t.optim.lr_scheduler.LambdaLR(t.optim.SGD(start(t)), [1, 2]),
        "Expected 1 lr_lambdas, but got 2",
    ),
    "resume": (
        lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD(start(t)), 2, last_epoch=3),
        "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler with "
        "last_epoch >= 0.",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_same_type_and_key_words(name):
    call, words = ERRORS[name]
    raised = []
    for t in BOTH:
        try:
            call(t)
        except Exception as error:
            raised.append(error)
    theirs, ours = raised
    assert type(ours) is type(theirs)
    assert words in str(theirs)
    assert words in str(ours)


def test_stepping_the_schedule_first_warns_alike():
    for t in BOTH:
        scheduler = t.optim.lr_scheduler.StepLR(t.optim.SGD(start(t)), 1)
        with pytest.warns(
            UserWarning,
            match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`",
        ):
            scheduler.step()


def test_one_update_bumps_the_version_alike():
    seen = []
    for t in BOTH:
        parameters = start(t)
        parameters[0].grad = t.ones(3, 2, dtype=t.float64)
        before = parameters[0]._version
        t.optim.SGD(parameters).step()
        t.optim.Adam(parameters).step()
        seen.append(parameters[0]._version - before)
    assert seen[1] == seen[0]
