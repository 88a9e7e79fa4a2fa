"""Memory that cannot be allocated is a RuntimeError in PyTorch's words, and a MemoryError too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="PyTorch is on the cpu")

MANY = 2**45

TOO_LARGE: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda L: L.zeros(MANY),
    "empty": lambda L: L.empty(MANY),
    "rand": lambda L: L.rand(MANY),
    "arange": lambda L: L.arange(MANY),
    "linspace": lambda L: L.linspace(0, 1, MANY),
    "logspace": lambda L: L.logspace(0, 1, MANY),
    "eye": lambda L: L.eye(2**30),
    "new_zeros": lambda L: L.ones(1).new_zeros(MANY),
    "zeros_like": lambda L: L.zeros_like(L.ones(1).expand(MANY), memory_format=L.contiguous_format),
    "add": lambda L: L.ones(1).expand(MANY) + 1,
    "exp": lambda L: L.ones(1).expand(MANY).exp(),
    "mul": lambda L: L.ones(2**23)[:, None] * L.ones(2**23),
    "mm": lambda L: L.ones(2**23, 1) @ L.ones(1, 2**23),
    "clone": lambda L: L.ones(1).expand(MANY).clone(memory_format=L.contiguous_format),
    "to": lambda L: L.ones(1).expand(MANY).to(L.float64, memory_format=L.contiguous_format),
    "repeat": lambda L: L.ones(3).repeat(MANY),
    "pad": lambda L: L.nn.functional.pad(L.ones(1, 1, 3), (MANY, 0)),
    "interpolate": lambda L: L.nn.functional.interpolate(L.ones(1, 1, 4), size=MANY),
    "bincount": lambda L: L.bincount(L.tensor([MANY])),
    "fft": lambda L: L.fft.fft(L.ones(2), n=MANY),
    "resize_": lambda L: L.ones(2).resize_(MANY),
    "Linear": lambda L: L.nn.Linear(2**23, 2**23),
    "UntypedStorage": lambda L: L.UntypedStorage(MANY * 4),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_memory_that_is_not_there_is_refused_in_pytorchs_words(name: str) -> None:
    for lib in (torch, dovetail):
        with pytest.raises(
            RuntimeError, match=r"can't allocate memory: you tried to allocate [0-9]+ b"
        ):
            TOO_LARGE[name](lib)
    with pytest.raises(MemoryError):
        TOO_LARGE[name](dovetail)


def test_the_error_is_the_one_that_programs_catch_and_it_can_be_pickled() -> None:
    with pytest.raises(dovetail.OutOfMemoryError, match=r"DefaultCPUAllocator: .* shape") as caught:
        dovetail.zeros(MANY) + 1
    assert isinstance(caught.value.args[0], str)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, dovetail.OutOfMemoryError)
    assert str(copy) == str(caught.value)
    assert issubclass(dovetail.OutOfMemoryError, RuntimeError)
    assert issubclass(torch.OutOfMemoryError, RuntimeError)


def test_a_program_that_runs_out_of_memory_goes_on() -> None:
    x = dovetail.ones(3, requires_grad=True)
    with pytest.raises(dovetail.OutOfMemoryError):
        (x.sum() * dovetail.ones(1).expand(MANY)).sum()
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "rand_like"])
def test_calls_after_the_first_are_refused_alike(name: str) -> None:
    function = getattr(dovetail, name)
    for _ in range(2):
        function(dovetail.ones(1).expand(4))
        with pytest.raises(dovetail.OutOfMemoryError, match="can't allocate memory"):
            function(dovetail.ones(1).expand(MANY), memory_format=dovetail.contiguous_format)
