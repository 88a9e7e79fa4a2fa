"""The names, places, signatures and refusals of `optim` and `amp` beside PyTorch's."""

from __future__ import annotations

import importlib
import inspect
from collections import OrderedDict
from functools import partial
from itertools import chain
from typing import Any

import pytest
import torch

import dovetail

BOTH = (torch, dovetail)

MODULES = [
    "optim",
    "optim.adadelta",
    "optim.adagrad",
    "optim.adam",
    "optim.adamax",
    "optim.adamw",
    "optim.asgd",
    "optim.lbfgs",
    "optim.lr_scheduler",
    "optim.nadam",
    "optim.optimizer",
    "optim.radam",
    "optim.rmsprop",
    "optim.rprop",
    "optim.sgd",
    "optim.sparse_adam",
    "optim.swa_utils",
    "optim._adafactor",
    "optim._muon",
    "optim._multi_tensor",
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
    "cuda.amp",
    "cuda.amp.autocast_mode",
    "cuda.amp.grad_scaler",
    "cpu.amp",
    "cpu.amp.autocast_mode",
    "cpu.amp.grad_scaler",
]
NOT_HERE = {
    **dict.fromkeys(["adafactor", "muon"], "functions of lists of tensors"),
    "swap_in_optimizer_params_and_state": "for tracing a step",
    "amp_definitely_not_available": "says whether this build has CUDA",
}


def public(module: Any) -> set[str]:
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name in vars(module) if inspect.isclass(getattr(module, name))]
        names = [name for name in names if getattr(module, name).__module__ == module.__name__]
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_names_of_pytorch_are_found_where_it_has_them(name: str) -> None:
    theirs, ours = (importlib.import_module(f"{t.__name__}.{name}") for t in BOTH)
    missing = {each for each in public(theirs) if not hasattr(ours, each)}
    assert missing - NOT_HERE.keys() == set()


CLASSES = [
    *[f"optim.{name}" for name in torch.optim.__all__ if name[0].isupper()],
    *[f"optim.lr_scheduler.{name}" for name in torch.optim.lr_scheduler.__all__],
    *[f"optim.swa_utils.{name}" for name in torch.optim.swa_utils.__all__],
    "amp.GradScaler",
    "amp.custom_fwd",
    "amp.custom_bwd",
    "cuda.amp.GradScaler",
    "cuda.amp.autocast",
    "cuda.amp.custom_fwd",
    "cuda.amp.custom_bwd",
    "cpu.amp.GradScaler",
    "cpu.amp.autocast",
    "optim.optimizer.register_optimizer_step_pre_hook",
    "optim.optimizer.register_optimizer_step_post_hook",
]


def found(t: Any, name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"{t.__name__}.{module}"), last)


def parameters(function: Any) -> list[tuple[str, Any, str]]:
    # Of a class that is marked as deprecated Python 3.13 sees the parameters of a wrapper.
    if isinstance(function, type) and hasattr(function, "__deprecated__"):
        function = partial(function.__init__, None)
    return [
        (each.name, each.kind, str(each.default).replace("torch.", "dovetail."))
        for each in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_signatures_are_those_of_pytorch(name: str) -> None:
    assert parameters(found(dovetail, name)) == parameters(found(torch, name))


METHODS = [
    (name, method)
    for name in CLASSES
    if inspect.isclass(found(torch, name))
    for method, value in inspect.getmembers(found(torch, name), inspect.isroutine)
    if not method.startswith("_") and "torch.nn.modules" not in getattr(value, "__module__", "")
]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_methods_are_those_of_pytorch(name: str, method: str) -> None:
    theirs, ours = (getattr(found(t, name), method, None) for t in BOTH)
    assert ours is not None, f"{name}.{method} is missing"
    wanted = [each for each in parameters(theirs) if "args" not in each[0]]
    assert [each for each in parameters(ours) if "args" not in each[0]] == wanted


def test_defaults_and_first_states_have_the_order_of_pytorchs() -> None:
    for name in torch.optim.__all__:
        if name in ("Optimizer",) or not name[0].isupper():
            continue
        theirs, ours = (getattr(t.optim, name)([t.nn.Parameter(t.ones(2, 2))]) for t in BOTH)
        assert list(ours.defaults.items()) == list(theirs.defaults.items())
        for optimizer in (theirs, ours):  # as a checkpoint from before the later options
            for group in optimizer.param_groups:
                for key in [key for key in group if key != "params"]:
                    del group[key]
            optimizer.__setstate__(optimizer.__getstate__())
        groups = [
            {key: value for key, value in each.param_groups[0].items() if key != "params"}
            for each in (theirs, ours)
        ]
        assert groups[1] == groups[0], name


def wrong_options() -> list[tuple[str, str, Any]]:
    """Return options of every optimizer with values that may be wrong."""
    given = []
    for name in torch.optim.__all__:
        if name == "Optimizer" or not name[0].isupper():
            continue
        for option, each in inspect.signature(getattr(torch.optim, name)).parameters.items():
            default = each.default
            values: list[Any] = []
            if option == "lr":
                values = [-1, "t.tensor(-1.0)", "t.ones(2)"]
            elif option in ("foreach", "fused", "capturable"):
                values = [True]
            elif option in ("differentiable", "max_iter"):
                continue
            elif isinstance(default, bool):
                values = ["not bool"]
            elif isinstance(default, float):
                values = [-1.0, float("nan")]
            elif isinstance(default, int):
                values = [-1]
            elif isinstance(default, tuple):
                rest = (1.5,) * (len(default) - 1)
                values = [(-1.0, *default[1:]), (*default[:-1], -1.0), (0.5, *rest)]
            elif option == "line_search_fn":
                values = ["x"]
            given += [(name, option, value) for value in values]
    given += [
        ("Adam", "betas", "(0.9, t.tensor(0.9))"),
        ("Adam", "betas", "(t.tensor(0.9), t.tensor(0.9))"),
        ("Adam", "lr", "t.tensor(0.1)"),
        ("SGD", "weight_decay", "t.tensor(0.1)"),
        ("SGD", "weight_decay", "t.tensor(-0.1)"),
        ("Muon", "ns_steps", 100),
        ("Muon", "ns_coefficients", (1.0, 2.0)),
        ("Muon", "adjust_lr_fn", "match_rms_adamw"),
        ("LBFGS", "history_size", 2),
    ]
    return given


def outcome(t: Any, name: str, option: str, value: Any) -> Any:
    """Return the error of a construction or of a step, or the parameter after it."""
    if isinstance(value, str) and "t." in value:
        value = eval(value, {"t": t})  # written above
    parameter = t.nn.Parameter(t.ones(2, 2))
    closure = {"closure": lambda: parameter.square().sum()} if name == "LBFGS" else {}
    try:
        optimizer = getattr(t.optim, name)([parameter], **{option: value})
        for _ in range(2):
            parameter.grad = 2 * parameter.detach()
            optimizer.step(**closure)
    except Exception as error:
        return error
    return parameter.tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        pytest.param(*each, marks=pytest.mark.cpu_only(reason="it is refused on the cpu"))
        if each[1] == "capturable"
        else each
        for each in wrong_options()
    ],
)
def test_options_out_of_range_are_refused_alike(name: str, option: str, value: Any) -> None:
    wanted, ours = (outcome(t, name, option, value) for t in BOTH)
    assert type(ours) is type(wanted), f"{ours!r} instead of {wanted!r}"
    if not isinstance(wanted, Exception):
        tolerance = {"rel": 1e-5, "abs": 1e-5, "nan_ok": True}
        assert [*chain(*ours)] == pytest.approx([*chain(*wanted)], **tolerance)
        return
    words = str(wanted).rstrip(".").split(": [")[0].replace(", and ", " and ")
    assert words in str(ours).replace(", and ", " and ")


@pytest.mark.parametrize("lib", BOTH, ids=["torch", "dovetail"])
def test_hooks_run_around_a_wrapper_that_asks_for_them_itself(lib: Any) -> None:
    class Wrapper(lib.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self._optimizer_step_pre_hooks: Any = OrderedDict()
            self._optimizer_step_post_hooks: Any = OrderedDict()
            self._patch_step_function()
            self.inner = inner

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    weight = lib.nn.Parameter(lib.ones(1))
    weight.grad = lib.ones(1)
    wrapper = Wrapper(lib.optim.SGD([weight], lr=0.5))
    seen: list[str] = []
    wrapper.register_step_post_hook(lambda *_: seen.append("after"))
    wrapper.step()
    assert seen == ["after"]
    assert weight.tolist() == [0.5]


@pytest.mark.parametrize("lib", BOTH, ids=["torch", "dovetail"])
def test_hooks_of_a_step_see_the_optimizer_among_its_arguments(lib: Any) -> None:
    weight = lib.nn.Parameter(lib.ones(1))
    weight.grad = lib.ones(1)
    optimizer = lib.optim.SGD([weight], lr=0.5)
    seen: list[Any] = []

    def before(_: Any, args: Any, kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return (*args[:1], lambda: 5), {}

    handles = [
        optimizer.register_step_pre_hook(before),
        optimizer.register_step_post_hook(lambda _, args, kwargs: seen.append((args, kwargs))),
        found(lib, "optim.optimizer.register_optimizer_step_pre_hook")(
            lambda _, args, kwargs: seen.append((args, kwargs))
        ),
    ]
    try:
        assert optimizer.step(closure=None) == 5
    finally:
        [each.remove() for each in handles]
    assert [[type(arg).__name__ for arg in args] for args, _ in seen] == [
        ["SGD"],
        ["SGD"],
        ["SGD", "function"],
    ]
    assert [list(kwargs) for _, kwargs in seen] == [["closure"], ["closure"], []]
    assert all(args[0] is optimizer for args, _ in seen)
