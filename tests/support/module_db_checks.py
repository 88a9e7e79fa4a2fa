"""PyTorch's table of modules (`module_db`) run here: results, gradients, text, state and errors.

A module is made in both libraries with the same arguments, and ours takes the state of PyTorch's.
An entry passes a check if all its samples do.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from op_db_checks import Check, Different, compare, counted, flat, seed_of
from oracle.outcomes import outcome
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch_twins import here, twin

import dovetail

CHECKS = ("float32", "float64", "gradients", "printed", "errors")

RANDOM = frozenset(["nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d"])
"""Modules whose results are drawn: compared by shape and dtype."""

MODES = (True, False)

_TABLES = frozenset(vars(torch.nn.Module()))
"""What each module of PyTorch has, beside attributes of its own."""


@functools.cache
def entries() -> dict[str, Any]:
    """Return the entries of the table by name."""
    return {entry.name: entry for entry in module_db}


def family_of(entry: Any) -> str:
    """Return the family of an entry: PyTorch's module that defines it."""
    return str(entry.module_cls.__module__).rpartition(".")[2]


def run(name: str, check: str, most: int = 240) -> Check | None:
    """Run one check of an entry; None where the entry has nothing to check.

    Parameters
    ----------
    most
        How many samples are taken, evenly over all; few entries have more than 240.
    """
    entry = entries()[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        if check == "errors":
            if entry.module_error_inputs_func is None:
                return None
            samples, one = list(_error_samples(entry)), _same_error
        else:
            samples, one = list(_samples(entry, check)), _CHECK_OF[check]
        if len(samples) > most:
            samples = samples[:: -(-len(samples) // most)]
        return counted(name, check, iter(samples), functools.partial(one, entry))


def _samples(entry: Any, check: str) -> Iterator[tuple[bool, Any]]:
    """Yield the samples for both modes, each with whether it is for training."""
    dtype = torch.float32 if check == "float32" else torch.float64
    for training in MODES:
        made = entry.module_inputs_func(
            entry, device="cpu", dtype=dtype, requires_grad=check == "gradients", training=training
        )
        for sample in made:
            yield training, (sample, dtype)


def _error_samples(entry: Any) -> Iterator[Any]:
    yield from entry.module_error_inputs_func(
        entry, device="cpu", dtype=torch.float64, requires_grad=False, training=False
    )


# -- modules of both libraries ---------------------------------------------------------------------


def _made(lib: Any, entry: Any, sample: Any) -> Any:
    """Return the module of a sample, as its constructor makes it."""
    given = sample.constructor_input.args, sample.constructor_input.kwargs
    if lib is torch:
        return entry.module_cls(*given[0], **given[1])
    args = [_argument_twin(each) for each in given[0]]
    named = given[1].items()  # on the device that the suite runs on
    kwargs = {name: _argument_twin(each) for name, each in named if name != "device"}
    return here(entry.name)(*args, **kwargs)


def _argument_twin(value: Any) -> Any:
    """Return what is here what an argument of a constructor is, which may be a module."""
    if not isinstance(value, torch.nn.Module):
        return twin(value)
    kind = type(value)
    place = "nn" if hasattr(torch.nn, kind.__name__) else kind.__module__.removeprefix("torch.")
    made = object.__new__(here(f"{place}.{kind.__name__}"))
    dovetail.nn.Module.__init__(made)
    for name, each in vars(value).items():
        if name not in _TABLES:
            made.__dict__[name] = twin(each)
    for name, parameter in value._parameters.items():
        own = None if parameter is None else dovetail.nn.Parameter(twin(parameter.detach()))
        made.register_parameter(name, own)
    for name, buffer in value._buffers.items():
        made.register_buffer(name, twin(buffer))
    for name, child in value._modules.items():
        made.add_module(name, _argument_twin(child))
    return made


def pair(entry: Any, training: bool, sample: Any, dtype: Any) -> tuple[Any, Any]:
    """Return our module and PyTorch's with the same state, without dropout."""
    theirs = _made(torch, entry, sample).to(dtype)
    ours = _made(dovetail, entry, sample).to(here(str(dtype).rpartition(".")[2]))
    if entry.is_lazy:
        theirs(*sample.forward_input.args, **sample.forward_input.kwargs)
    ours.load_state_dict(twin(theirs.state_dict()))
    for module in (ours, theirs):
        module.train(training)
        _without_dropout(module)
    return ours, theirs


def _without_dropout(module: Any) -> None:
    """Let a module and all within it drop nothing, since both libraries draw numbers their way."""
    for each in module.modules():
        if "Dropout" in type(each).__name__:
            each.p = 0.0
        elif hasattr(each, "dropout") and isinstance(each.dropout, float):
            each.dropout = 0.0


def arguments(lib: Any, sample: Any) -> tuple[Any, Any]:
    """Return the arguments of a call; one that is given twice is one here, too."""
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    if lib is torch:
        return args, kwargs
    made = {id(each): twin(each) for each in [*args, *kwargs.values()]}
    return tuple([made[id(each)] for each in args]), {
        name: made[id(each)] for name, each in kwargs.items()
    }


# -- checks ----------------------------------------------------------------------------------------


def _same_results(entry: Any, drawn: tuple[bool, Any]) -> None:
    """Compare outputs, and the state that the call leaves behind."""
    training, (sample, dtype) = drawn
    ours, theirs = pair(entry, training, sample, dtype)
    found = []
    for lib, module in ((dovetail, ours), (torch, theirs)):
        args, kwargs = arguments(lib, sample)
        outputs = module(*args, **kwargs)
        found.append([outputs, list(module.state_dict().values())])
    values = entry.name not in RANDOM
    compare(*found, values=values)


def _same_gradients(entry: Any, drawn: tuple[bool, Any]) -> None:
    """Compare the gradients of arguments and parameters."""
    training, (sample, dtype) = drawn
    ours, theirs = pair(entry, training, sample, dtype)
    found = [_gradients(lib, each, sample) for lib, each in ((dovetail, ours), (torch, theirs))]
    compare(*found, values=entry.name not in RANDOM, loose=10.0)


def _gradients(lib: Any, module: Any, sample: Any) -> list[Any]:
    args, kwargs = arguments(lib, sample)
    outputs = [each for each in flat(lib, module(*args, **kwargs)) if each.requires_grad]
    leaves = [
        each for each in [*flat(lib, [args, kwargs]), *module.parameters()] if each.requires_grad
    ]
    if not outputs or not leaves:
        return [None] * len(leaves)
    seeds = [seed_of(lib, each) for each in outputs]
    return list(lib.autograd.grad(outputs, leaves, seeds, allow_unused=True))


def _same_text(entry: Any, drawn: tuple[bool, Any]) -> None:
    """Compare what is printed, the names and shapes of the state, and its values that are fixed."""
    _, (sample, _) = drawn
    ours, theirs = (_made(lib, entry, sample) for lib in (dovetail, torch))
    if entry.is_lazy:
        _compare_texts(ours, theirs)
        for lib, module in ((dovetail, ours), (torch, theirs)):
            args, kwargs = arguments(lib, sample)
            module.to(lib.float64)(*args, **kwargs)
    _compare_texts(ours, theirs)
    states = ours.state_dict(), theirs.state_dict()
    if list(states[0]) != list(states[1]):
        raise Different(f"state {list(states[0])} instead of {list(states[1])}")
    for name, theirs_value in states[1].items():
        _compare_beginnings(name, states[0][name], theirs_value)


def _compare_beginnings(name: str, ours: Any, theirs: Any) -> None:
    """Compare initial values: those that are one number exactly, those that are drawn by size."""
    is_drawn = len(set(theirs.flatten().tolist())) > 1
    compare(ours, theirs, values=not is_drawn)
    sizes = [float(each.double().abs().max()) if each.numel() else 0.0 for each in (ours, theirs)]
    if is_drawn and theirs.numel() >= 16 and not 0.5 < sizes[0] / sizes[1] < 2:
        raise Different(f"{name} begins with numbers up to {sizes[0]} instead of {sizes[1]}")


def _compare_texts(ours: Any, theirs: Any) -> None:
    texts = [re.sub(r" at 0x[0-9a-f]+", "", repr(each)) for each in (ours, theirs)]
    if texts[0] != texts[1].replace("torch.", "dovetail."):
        raise Different(f"{texts[0]} instead of {texts[1]}")


def _same_error(entry: Any, refused: Any) -> None:
    """Compare where a module raises, with which type, and with which text."""
    sample = refused.module_error_input
    wanted, found = (_error_of(lib, entry, refused) for lib in (torch, dovetail))
    if wanted is None:
        return
    if not isinstance(found, (type(wanted), refused.error_type)):
        raise Different(f"{found!r:.200} instead of {type(wanted).__name__}")
    if not re.search(refused.error_regex, str(found), re.DOTALL):
        raise Different(f"{found!r:.300} instead of {refused.error_regex!r} ({sample.desc})")


def _error_of(lib: Any, entry: Any, refused: Any) -> Exception | None:
    """Return what a module raises where it is to."""
    sample = refused.module_error_input
    if refused.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR:
        return outcome(lambda: _made(lib, entry, sample)).error
    module = _made(lib, entry, sample)
    args, kwargs = arguments(lib, sample)
    return outcome(lambda: module(*args, **kwargs)).error


_CHECK_OF: dict[str, Callable[[Any, Any], None]] = {
    "float32": _same_results,
    "float64": _same_results,
    "gradients": _same_gradients,
    "printed": _same_text,
}
