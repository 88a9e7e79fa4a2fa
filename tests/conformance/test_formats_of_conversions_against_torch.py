"""Where `to`, `float` and modules copy for a memory format, and in which strides: for sizes of 1,
gaps and orders that have several formats.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

SHAPES = [
    *[(10, 3, 1, 1), (10, 3, 5, 5), (1, 3, 5, 5), (2, 1, 5, 5), (3, 1, 1, 1), (1, 1, 1, 1)],
    *[(2, 3, 1, 4), (2, 3, 4, 1), (2, 3, 4, 5, 6), (2, 3, 1, 1, 1), (1, 1, 2, 2, 2), (2, 3)],
]
FORMATS = ["contiguous_format", "channels_last", "channels_last_3d", "preserve_format"]


def sources(lib: Any, shape: tuple[int, ...]) -> Any:
    x = lib.zeros(shape, device="cpu")
    yield x
    yield x.transpose(-1, -2)
    yield x[:, :1]
    if len(shape) > 3:
        turned = x.to(memory_format=lib.channels_last if len(shape) == 4 else lib.channels_last_3d)
        yield from (turned, turned[:, :1], turned[:1], turned[:, :, ::2])


def in_module(lib: Any, x: Any, memory_format: Any) -> Any:
    module = lib.nn.Module()
    module.x = lib.nn.Parameter(x)
    return module.to(memory_format=memory_format).x.detach()


CALLS = {
    "to": lambda lib, x, each: x.to(memory_format=each),
    "to with a dtype": lambda lib, x, each: x.to(lib.float32, memory_format=each),
    "float": lambda lib, x, each: x.float(memory_format=each),
    "a module": in_module,
    "resize_as_": lambda lib, x, each: lib.empty(0, device="cpu").resize_as_(x, memory_format=each),
}


def results(lib: Any, call: Any, shape: tuple[int, ...], name: str) -> list[Any]:
    found: list[Any] = []
    for x in sources(lib, shape):
        try:
            made = call(lib, x, getattr(lib, name))
        except RuntimeError:
            found.append("refused")
        else:
            found.append((made.stride(), made.data_ptr() == x.data_ptr()))
    return found


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("name", CALLS)
def test_copies_are_made_where_pytorch_makes_them(name: str, memory_format: str) -> None:
    for shape in SHAPES:
        ours, theirs = (
            results(lib, CALLS[name], shape, memory_format) for lib in (dovetail, torch)
        )
        assert ours == theirs, shape
