"""Entries of generated functions, and calls of them with drawn arguments."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_aten import functions  # noqa: E402 - after what may be missing
from dovetail_dispatcher.calls.entry_forms import EntryForm  # noqa: E402
from dovetail_dispatcher.missing import MISSING  # noqa: E402

UNDEFINED = ("empty", "new_empty", "resize", "set_", "rand", "normal")
"""Parts of the names of functions whose results have no defined elements, or are drawn."""


def all_entries() -> dict[str, Any]:
    return {name: each for name, each in vars(functions).items() if type(each) is core.Entry}


ENTRIES = all_entries()


TENSORS: list[Callable[[], Any]] = [
    lambda: dovetail.ones(2, 3),
    lambda: dovetail.arange(6).reshape(2, 3),
    lambda: dovetail.ones(3, requires_grad=True) * 2,
    lambda: dovetail.tensor(2.5),
    lambda: dovetail.tensor(1),
    lambda: dovetail.tensor([True, False, True]),
]
NUMBERS: list[Callable[[], Any]] = [
    *(lambda: 1, lambda: -1, lambda: 0.5, lambda: True, lambda: 1j),
    *(lambda: np.float64(0.5), lambda: np.int32(2), lambda: np.bool_(True)),
]
LISTS: list[Callable[[], Any]] = [
    lambda: [0, 1],
    lambda: (1,),
    lambda: 1,
    lambda: [1, 2.0],
    lambda: dovetail.Size([2, 3]),
]
OTHERS: list[Callable[[], Any]] = [
    lambda: None,
    lambda: "mean",
    lambda: (),
    lambda: [dovetail.ones(2, 3), dovetail.ones(2, 3)],
    lambda: (dovetail.ones(3), None),
    lambda: dovetail.float64,
    lambda: dovetail.contiguous_format,
    object,
]
ALL = [*TENSORS, *NUMBERS, *LISTS, *OTHERS]
"""What makes arguments: for every call new ones, since functions may write to them."""

FITTING = {
    "TENSOR": TENSORS,
    "TENSOR_OR_NUMBER": [*TENSORS, *NUMBERS],
    "CLASSES": NUMBERS,
    "NUMBER": NUMBERS,
    "INTS": LISTS,
    "TENSORS": [OTHERS[3]],
}


NAMES = ("input", "self", "other", "dim", "axis", "keepdim", "out", "dtype", "alpha", "size", "x")


def outcome(call: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    dovetail.manual_seed(0)
    try:
        result = call(*args, **kwargs)
    except RecursionError:
        raise
    except Exception as error:
        return type(error), str(error).replace(repr(args), "")
    return repr(result), repr(args[:1])


def without_addresses(seen: Any) -> Any:
    return [" ".join([w for w in str(each).split() if not w.startswith("0x")]) for each in seen]


def drawn_arguments(
    drawn: random.Random, called: Any, form: Any
) -> tuple[list[Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Return what makes arguments and keywords for a call: most fit, one at times does not."""
    parameters = list(inspect.signature(called).parameters)
    if isinstance(form, EntryForm):
        required = [p for p in form.parameters if p.default is MISSING]
        args = [drawn.choice(FITTING.get(p.kind, ALL)) for p in required[: form.positional]]
    else:
        args = [drawn.choice(TENSORS), *drawn.choices(ALL, k=drawn.randrange(3))]
    kwargs = {}
    while drawn.random() < 0.3:
        kwargs[drawn.choice((*parameters, *NAMES))] = drawn.choice(ALL)
    if drawn.random() < 0.3:
        args.insert(drawn.randint(0, len(args)), drawn.choice(ALL))
    if args and drawn.random() < 0.3:
        args[drawn.randrange(len(args))] = drawn.choice(ALL)
    if args and drawn.random() < 0.1:
        args.pop()
    return args, kwargs
