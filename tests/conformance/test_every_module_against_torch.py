"""Every public module and function of PyTorch's `nn` is here, with the same arguments."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
import torch

import dovetail

MODULES = sorted(
    name
    for name, value in vars(torch.nn).items()
    if inspect.isclass(value) and issubclass(value, torch.nn.Module)
)
FUNCTIONS = sorted(
    name
    for name, value in vars(torch.nn.functional).items()
    if inspect.isroutine(value)
    and not name.startswith("_")
    and (value.__module__ or "torch").startswith(("torch.nn.functional", "torch._jit"))
)
ELSEWHERE = {"boolean_dispatch", "assert_int_or_pair"}
"""What PyTorch's own functions are made with."""
QUANTISED = {
    "grouped_mm": "products of groups of matrices in bfloat16",
    "scaled_grouped_mm": "8-bit floats",
    "scaled_mm": "8-bit floats",
}
"""Functions that need what is not here."""
BRIEF = {
    "AdaptiveLogSoftmaxWithLoss": (8, 20, [4, 10], 2.0),
    "AlphaDropout": (0.25,),
    "BatchNorm2d": (3,),
    "ChannelShuffle": (2,),
    "CrossMapLRN2d": (3,),
    "EmbeddingBag": (5, 3, 2.0, 1.0, True, "sum"),
    "Flatten": (1, 2),
    "Fold": (4, 2),
    "LSTM": (3, 4, 2, False, True, 0.5, True, 2),
    "LazyBatchNorm2d": (),
    "LazyConvTranspose1d": (3, 2),
    "LazyInstanceNorm1d": (),
    "LazyLinear": (3,),
    "LinearCrossEntropyLoss": (3, 4),
    "MultiheadAttention": (4, 2, 0.0, True, True),
    "PixelUnshuffle": (2,),
    "SyncBatchNorm": (3,),
    "TripletMarginWithDistanceLoss": (),
    "Unflatten": (1, (2, 3)),
    "Unfold": (2,),
    "Upsample": (None, 2.0, "bilinear"),
    "UpsamplingBilinear2d": (4,),
    "UpsamplingNearest2d": (None, (2.0, 3.0)),
}
"""Arguments of modules that PyTorch's table of them leaves out, or has in few forms."""


def arguments(function: Any) -> list[tuple[Any, ...]]:
    """Return names, kinds and defaults of what a function takes, without `self`."""
    found = inspect.signature(function).parameters.values()
    return [
        (each.name, each.kind, getattr(each.default, "__name__", each.default))
        for each in found
        if each.name != "self"
    ]


def takes_anything(function: Any) -> bool:
    kinds = [kind for _, kind, _ in arguments(function)]
    return kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_takes_the_same_arguments(name: str) -> None:
    theirs, ours = getattr(torch.nn, name), getattr(dovetail.nn, name)
    if not takes_anything(theirs.__init__):
        assert arguments(ours.__init__) == arguments(theirs.__init__)
    if theirs.forward is not torch.nn.Module.forward:
        assert arguments(ours.forward) == arguments(theirs.forward)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ELSEWHERE])
def test_a_function_takes_the_same_arguments(name: str) -> None:
    if name in QUANTISED:
        assert not hasattr(dovetail.nn.functional, name), f"take {name} off the list"
        return
    theirs, ours = getattr(torch.nn.functional, name), getattr(dovetail.nn.functional, name)
    try:
        expected = arguments(theirs)
    except ValueError:  # PyTorch's is made in C++
        return
    if not takes_anything(theirs):
        assert arguments(ours)[: len(expected)] == expected


@pytest.mark.parametrize("name", BRIEF)
def test_a_module_prints_and_keeps_what_pytorchs_does(name: str) -> None:
    ours, theirs = (getattr(lib.nn, name)(*BRIEF[name]) for lib in (dovetail, torch))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_found_where_pytorch_has_it(name: str) -> None:
    place = getattr(torch.nn, name).__module__.removeprefix("torch.")
    assert getattr(import_module(f"dovetail.{place}"), name) is getattr(dovetail.nn, name)
