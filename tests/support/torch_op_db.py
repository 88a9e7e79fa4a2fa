"""Calls from PyTorch's own samples of its operators, and from the arguments that they refuse."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from call_values import described, name_of
from random_calls import Call

import dovetail

SKIPPED = ("empty", "to", "view", "sparse", "rand", "item", "trace")
"""Operators whose samples are of memory, or are called in a way of their own."""
FIRST = 12
"""Samples of an operator among which one is drawn."""
RANDOM = ("bernoulli", "dropout", "multinomial", "normal", "randint", "randn", "rand_like")


def shared_operators() -> list[Any]:
    """Return the entries of PyTorch's table whose functions are public here, too."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [
        entry
        for entry in op_db
        if entry.name in dir(dovetail)
        and hasattr(torch, entry.name)
        and not entry.name.startswith(SKIPPED)
    ]


def calls_of(entry: Any, r: random.Random, count: int) -> Iterator[Call]:
    """Yield some of the calls of an operator: of its samples in random dtypes, and one refused."""
    names = sorted([name_of(each) for each in entry.dtypes])
    names = [name for name in names if hasattr(dovetail, name)]
    for _ in range(count):
        dtype = getattr(torch, r.choice(names))
        inexact = dtype.is_floating_point or dtype.is_complex
        made = entry.sample_inputs("cpu", dtype, requires_grad=inexact and entry.supports_autograd)
        samples = list(islice(made, FIRST))
        if samples:
            yield call_of(entry, r.choice(samples))
    if entry.error_inputs_func is not None:
        refused = list(islice(entry.error_inputs("cpu"), FIRST))
        if refused:
            yield call_of(entry, r.choice(refused).sample_input)


def call_of(entry: Any, sample: Any) -> Call:
    args = [described(torch, each) for each in (sample.input, *sample.args)]
    kwargs = {name: described(torch, each) for name, each in sample.kwargs.items()}
    return Call(entry.name, "function", tuple(args), kwargs, entry.name in RANDOM)
