"""Where `to`, `float` and modules copy for a memory format, and in which strides: for sizes of 1,
gaps and orders that have several formats.
"""

from __future__ import annotations

import random
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


COPIES: dict[str, Any] = {
    "clone": lambda lib, x: x.clone(),
    "empty_like": lambda lib, x: lib.empty_like(x),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "ones_like": lambda lib, x: lib.ones_like(x),
    "full_like": lambda lib, x: lib.full_like(x, 2),
    "rand_like": lambda lib, x: lib.rand_like(x),
    "rand_like in C order": lambda lib, x: lib.rand_like(x, memory_format=lib.contiguous_format),
    "double": lambda lib, x: x.double(),
    "half": lambda lib, x: x.half(),
    "to, copied": lambda lib, x: x.to(x.dtype, copy=True),
    "of complex numbers": lambda lib, x: x.to(lib.complex64).to(lib.complex128),
    "logsigmoid": lambda lib, x: lib.nn.functional.logsigmoid(x) <= 0,
    "dropout": lambda lib, x: lib.dropout(x.clone(), 0.5, True),
}


def any_memory(lib: Any, rng: random.Random, device: str) -> Any:
    """Return a tensor whose elements may share memory, or have gaps between them."""
    shape = [rng.randint(1, 4) for _ in range(rng.randint(2, 4))]
    order = rng.sample(range(len(shape)), len(shape))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim], step = step, step * shape[dim]
    for dim in rng.sample(range(len(shape)), rng.randint(0, 2)):
        strides[dim] = rng.choice((0, 0, 1, 2, 6))
    size = 1 + sum([(n - 1) * stride for n, stride in zip(shape, strides, strict=True)])
    return lib.as_strided(lib.arange(float(size), device=device), shape, strides)


def told(x: Any) -> list[int]:
    """Return the strides of dimensions of several elements; those of others are any number."""
    return [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_any_memory_are_laid_out_as_pytorchs(name: str) -> None:
    for seed in range(200):
        made = []
        for lib in (torch, dovetail):
            lib.manual_seed(seed)
            made.append(COPIES[name](lib, any_memory(lib, random.Random(seed), "cpu")))
        assert told(made[1]) == told(made[0]), seed
        if name != "empty_like":
            assert made[1].tolist() == made[0].tolist(), seed


@pytest.mark.parametrize(
    "name", ["clone", "empty_like", "double", "rand_like", "logsigmoid", "dropout"]
)
def test_meta_tensors_have_the_strides_of_copies(name: str) -> None:
    for seed in range(200):
        x = any_memory(dovetail, random.Random(seed), "cpu")
        meta = dovetail.empty_strided(x.shape, x.stride(), device="meta")
        made, of_meta = COPIES[name](dovetail, x), COPIES[name](dovetail, meta)
        assert told(of_meta) == told(made), seed
