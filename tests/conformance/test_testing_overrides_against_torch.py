"""Every function of ``torch.overrides.get_testing_overrides()`` that is here can be overridden, and
handlers get to see the same call.

A function and the method of one name are one object here, so names are compared without what they
belong to, and arguments by the parameters that they are bound to.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import get_testing_overrides as torch_overrides
from torch.overrides import is_tensor_method_or_property
from torch.overrides import resolve_name as torch_name

import dovetail
from dovetail.overrides import get_testing_overrides, resolve_name

ABSENT = object()
WITHOUT_ASKING = {
    "Tensor._grad_fn.__get__": "slots of the tensor, which hot paths read",
    "Tensor.output_nr.__get__": "slots of the tensor, which hot paths read",
    "Tensor.index": "the operator; PyTorch's is a stand-in without a signature",
    "trace": "records operator calls here",
    "sym_sum": "adds numbers of a list; PyTorch asks what is in it",
}
SAME = {  # what Python's operators and other names of a function are called here and there
    "__and__": "bitwise_and",
    "__iand__": "bitwise_and_",
    "__or__": "bitwise_or",
    "__ior__": "bitwise_or_",
    "__xor__": "bitwise_xor",
    "__ixor__": "bitwise_xor_",
    "__lshift__": "bitwise_left_shift",
    "__ilshift__": "bitwise_left_shift_",
    "__rshift__": "bitwise_right_shift",
    "__irshift__": "bitwise_right_shift_",
    "__floordiv__": "floor_divide",
    "__pow__": "pow",
    "__ipow__": "pow_",
    "__rsub__": "rsub",
    "__eq__": "eq",
    "logsigmoid": "log_sigmoid",
    "_grad": "grad",
    "ndimension": "dim",
    "nelement": "numel",
}


def here(name: str) -> Any:
    """Return what Dovetail has under PyTorch's name, ``"Tensor.shape.__get__"``."""
    found: Any = dovetail
    for part in name.split("."):
        if inspect.ismodule(found) and not hasattr(found, part):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return ABSENT
        else:
            found = getattr(found, part, ABSENT)
        if found is ABSENT:
            return ABSENT
    return found if callable(found) else ABSENT


NAMES = {
    name.removeprefix("torch."): (function, stand_in)
    for function, stand_in in torch_overrides().items()
    if (name := torch_name(function)) is not None
}
EXISTING = [name for name in NAMES if here(name) is not ABSENT]


class Recording:
    """What is no tensor, and answers every call with -1."""

    log: list[Any] = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append((func, types, args, kwargs or {}))
        return -1


def recording_tensor(lib: Any) -> Any:
    cls = type(
        "RecordingTensor",
        (lib.Tensor,),
        {"log": [], "__torch_function__": Recording.__dict__["__torch_function__"]},
    )
    with lib._C.DisableTorchFunctionSubclass():
        return lib.tensor([5.0]).as_subclass(cls)


def seen(
    call: Callable[..., Any], value: Any, count: int, name_of: Callable[[Any], str | None]
) -> Any:
    """Return the outcome of a call with `count` times `value`, and what its handler saw last."""
    cls = type(value)
    cls.log.clear()
    try:
        result = call(*[value] * count)
    except (RuntimeError, TypeError, ValueError) as error:
        result = type(error).__name__
    if not cls.log:
        return result, None
    func, types, args, kwargs = cls.log[-1]
    given = [*args, *kwargs.values()]
    name = str(name_of(func)).removesuffix(".__get__").rpartition(".")[2]
    return result, (SAME.get(name, name), types == (cls,), sum([each is value for each in given]))


def test_most_of_what_exists_here_is_compared() -> None:
    assert len(EXISTING) > 650


@pytest.mark.parametrize("is_method", [True, False])
def test_every_function_that_pytorch_can_override_is_overridable_here(is_method: bool) -> None:
    ours, theirs = recording_tensor(dovetail), recording_tensor(torch)
    differing = {}
    for name in EXISTING:
        function, stand_in = NAMES[name]
        if is_tensor_method_or_property(function) is not is_method or name in WITHOUT_ASKING:
            continue
        spec = inspect.getfullargspec(stand_in)
        count = len(spec.args) - len(spec.defaults or ())
        there = seen(function, theirs if is_method else Recording(), count, torch_name)
        if there[1] is None or name == "Tensor.__setitem__":
            continue  # PyTorch refuses such arguments before it asks; nothing is returned
        found = seen(here(name), ours if is_method else Recording(), count, resolve_name)
        if found != there:
            differing[name] = found, there
    assert differing == {}


@pytest.mark.parametrize("name", sorted(WITHOUT_ASKING))
def test_what_is_not_compared_is_there(name: str) -> None:
    assert here(name) is not ABSENT


def test_the_stand_ins_take_what_the_functions_take() -> None:
    refused = []
    for function, stand_in in get_testing_overrides().items():
        parameters = inspect.signature(stand_in).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        # Of overloads that have no parameter in common, the first of one.
        needed = needed or [p for p in parameters if p.kind <= p.VAR_POSITIONAL][:1]
        keywords = [p.name for p in parameters if p.default is p.empty and p.kind == p.KEYWORD_ONLY]
        value = recording_tensor(dovetail)
        try:
            result = function(*[value] * len(needed), **dict.fromkeys(keywords, value))
        except TypeError as error:
            refused.append((resolve_name(function), str(error)[:80]))
        else:
            assert type(value).log, resolve_name(function)
            assert result in (-1, None), resolve_name(function)
        assert stand_in() == -1
    assert refused == []
