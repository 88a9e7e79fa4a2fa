"""Overloads of old do what they do in PyTorch, and warn in its words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.usefixtures("every_warning")

SHAPES = {
    "add": ("beforehand", (2, 3), (2, 3)),
    "sub": ("beforehand", (2, 3), (3,)),
    "addcmul": ("beforehand", (2, 3), (2, 3), (3,)),
    "addcdiv": ("beforehand", (2, 3), (2, 1), (3,)),
    "addmm": ("around", (2, 3), (2, 4), (4, 3)),
    "addmv": ("around", (2,), (2, 4), (4,)),
    "addr": ("around", (2, 3), (2,), (3,)),
    "addbmm": ("around", (2, 3), (5, 2, 4), (5, 4, 3)),
    "baddbmm": ("around", (5, 2, 3), (5, 2, 4), (5, 4, 3)),
}
"""Where the numbers stand, and the shapes of the tensors. PyTorch has no other overload of old but
that of sspaddmm, for sparse tensors: found by calling everything with numbers in every place.
"""

NAMES = [name for name in SHAPES if hasattr(dovetail, name)]


def arguments(lib: Any, name: str) -> list[Any]:
    return [
        lib.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape) for shape in SHAPES[name][1:]
    ]


def calls(lib: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what each way of calling an overload of old gives, or its error, by the way."""
    for numbers in ((2,), (0.5,), (2, 3), (0, 0.5)):
        first, *rest = arguments(lib, name)
        args = [first, *numbers, *rest]
        if SHAPES[name][0] == "around":
            args = [numbers[0], first, *numbers[1:], *rest]
        ways = {
            "function": lambda args=args: getattr(lib, name)(*args),
            "out": lambda args=args: getattr(lib, name)(*args, out=lib.empty(0)),
            "method": lambda f=first, a=(*numbers, *rest): getattr(f, name)(*a),
            "in-place": lambda f=first, a=(*numbers, *rest): getattr(f, f"{name}_")(*a),
            "keyword besides": lambda args=args: getattr(lib, name)(*args, beta=2),
        }
        for way, call in ways.items():
            yield f"{way} {numbers}", outcome(call)


def outcome(call: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call().tolist()
        except Exception as error:
            return type(error), len(caught)
    return result, len(caught)


@pytest.mark.parametrize("name", NAMES)
def test_an_overload_of_old_gives_what_it_gives_in_pytorch(name: str) -> None:
    ours = dict(calls(dovetail, name))
    assert ours == dict(calls(torch, name))
    assert any(isinstance(result, list) for result, _ in ours.values())


@pytest.mark.parametrize("name", NAMES)
def test_numbers_stand_for_tensors_where_they_do_in_pytorch(name: str) -> None:
    def made(lib: Any, place: int, number: Any) -> Any:
        first, *rest = arguments(lib, name)
        tensors = [first, *rest]
        tensors[place] = number
        args = [tensors[0], 2, *tensors[1:]]
        if SHAPES[name][0] == "around":
            args = [2, *tensors]
        return outcome(lambda: getattr(lib, name)(*args))

    for place in range(len(SHAPES[name]) - 1):
        for number in (3, 0.5, 1j):
            assert made(dovetail, place, number) == made(torch, place, number), (place, number)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("in_place", [False, True])
def test_an_overload_of_old_warns_in_the_words_of_pytorch(name: str, in_place: bool) -> None:
    texts = []
    for lib in (dovetail, torch):
        first, *rest = arguments(lib, name)
        numbers = [2, 3] if SHAPES[name][0] == "around" else [2]
        args = [first, *numbers, *rest]
        if len(numbers) == 2 and not in_place:
            args = [2, first, 3, *rest]
        with pytest.warns(UserWarning) as caught:
            getattr(first, f"{name}_")(*args[1:]) if in_place else getattr(lib, name)(*args)
        (each,) = caught
        text = str(each.message).partition(" (Triggered")[0]
        texts.append([line for line in text.splitlines() if "out_dtype" not in line])
        assert each.filename == __file__ or lib is torch
    assert texts[0] == texts[1]


def test_one_overload_of_old_warns_in_a_process() -> None:
    x = dovetail.ones(2)
    dovetail.set_warn_always(False)
    with pytest.warns(UserWarning, match="This overload of add is deprecated") as caught:
        for _ in range(3):
            dovetail.add(x, 2, x)
            x.add_(2, x)
    assert len(caught) == 1


@pytest.mark.parametrize("name", NAMES)
def test_gradients_run_through_an_overload_of_old(name: str) -> None:
    gradients = []
    for lib in (dovetail, torch):
        tensors = [each.requires_grad_() for each in arguments(lib, name)]
        args = [tensors[0], 3, *tensors[1:]]
        if SHAPES[name][0] == "around":
            args = [3, tensors[0], 2, *tensors[1:]]
        with pytest.warns(UserWarning, match="deprecated"):
            getattr(lib, name)(*args).sum().backward()
        gradients.append([each.grad.tolist() for each in tensors])
    assert gradients[0] == gradients[1]


CALLS = {
    "a number for the second tensor": lambda lib, x: lib.add(x, 2, 3),
    "a number for a tensor of addcmul": lambda lib, x: lib.addcmul(x, 2, 3, x),
    "a tensor for the number": lambda lib, x: lib.add(x, lib.tensor(2.0), x),
    "a tensor with elements for the number": lambda lib, x: lib.add(x, x, x),
    "a number that requires grad": lambda lib, x: lib.add(
        x, lib.tensor(2.0, requires_grad=True), x
    ),
    "a bool for the number": lambda lib, x: lib.add(x, True, x),
    "too many": lambda lib, x: lib.add(x, 2, x, x),
    "the alpha by position": lambda lib, x: lib.add(x, x, 2),
    "the alpha twice": lambda lib, x: lib.add(x, 2, x, alpha=3),
    "text": lambda lib, x: lib.addmm(2, "a", x, x),
    "integers and a fraction": lambda lib, x: lib.add(x.long(), 0.5, x.long()),
    "int out of a float result": lambda lib, x: lib.add(x, 2, x, out=lib.empty(3).long()),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_an_overload_of_old_takes_is_what_it_takes_in_pytorch(case: str) -> None:
    ours, theirs = (outcome(lambda lib=lib: CALLS[case](lib, lib.ones(3))) for lib in LIBRARIES)
    assert ours == theirs


LIBRARIES = (dovetail, torch)


def test_an_override_gets_the_arguments_as_they_were_given() -> None:
    seen = []
    for lib in LIBRARIES:

        class Noting(lib.Tensor):  # type: ignore[name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
                seen.append([func.__name__, [type(each).__name__ for each in args], kwargs or {}])
                return 7

        x = lib.ones(2).as_subclass(Noting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert lib.add(lib.ones(2), 2, x) == 7
    assert seen[0] == seen[1]
