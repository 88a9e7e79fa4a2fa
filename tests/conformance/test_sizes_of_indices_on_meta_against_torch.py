"""Indices and sources on the meta device that do not fit are refused as PyTorch refuses them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

CALLS: dict[str, Callable[[Any, int, Any, Any], Any]] = {
    "gather": lambda x, dim, index, source: x.gather(dim, index),
    "scatter": lambda x, dim, index, source: x.scatter(dim, index, source),
    "scatter of a number": lambda x, dim, index, source: x.scatter(dim, index, 2.0),
    "scatter_": lambda x, dim, index, source: x.scatter_(dim, index, source),
    "scatter of sums": lambda x, dim, index, source: x.scatter(dim, index, source, reduce="add"),
    "scatter_add": lambda x, dim, index, source: x.scatter_add(dim, index, source),
    "scatter_reduce": lambda x, dim, index, source: x.scatter_reduce(dim, index, source, "amax"),
}


def _found(lib: Any, name: str, seed: int) -> Any:
    r = random.Random(seed)
    shape = [r.choice([1, 2, 3]) for _ in range(r.randint(1, 3))]

    def like_it() -> list[int]:
        made = [max(1, size + r.choice([0, 0, 0, -1, 1])) for size in shape]
        return made if r.random() < 0.9 else [*made, 1]

    dtype = lib.int64 if r.random() < 0.9 else lib.float32
    x = lib.empty(shape, device="meta")
    index = lib.empty(like_it(), device="meta", dtype=dtype)
    source = lib.empty(like_it(), device="meta")
    try:
        return list(CALLS[name](x, r.randrange(len(shape)), index, source).shape)
    except (RuntimeError, IndexError) as error:
        return type(error)


@pytest.mark.parametrize("name", CALLS)
def test_what_does_not_fit_is_refused_as_in_pytorch(name: str) -> None:
    found = [_found(dovetail, name, seed) for seed in range(150)]
    assert found == [_found(torch, name, seed) for seed in range(150)]
    assert RuntimeError in found
    assert any(isinstance(each, list) for each in found)
