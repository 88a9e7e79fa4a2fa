"""Strides of dimensions of size 1, through chains of views: programs give them to `as_strided`, and
memory formats are read from them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

CHAINS = int(os.environ.get("DOVETAIL_CALLS", "30")) * 10


def fits(x: Any) -> bool:
    """Return whether two leading dimensions can be shown as one."""
    return x.stride(0) == x.shape[1] * x.stride(1) or 1 in x.shape[:2]


STEPS: list[Callable[[Any, int, int], Any]] = [
    lambda x, i, j: x.unsqueeze(i),
    lambda x, i, j: x[(slice(None),) * i + (None,)],
    lambda x, i, j: (
        x[(slice(None),) * i + (None, slice(None), None)] if i < x.ndim else x[..., None]
    ),
    lambda x, i, j: x.expand(1, *x.shape) if x.ndim else x,
    lambda x, i, j: x.expand(1, 1, *x.shape) if x.ndim else x,
    lambda x, i, j: x.transpose(i % x.ndim, j % x.ndim) if x.ndim else x,
    lambda x, i, j: x.select(i % x.ndim, 0) if x.ndim else x,
    lambda x, i, j: x.narrow(i % x.ndim, 0, 1) if x.ndim else x,
    lambda x, i, j: x[(slice(None),) * (i % x.ndim) + (slice(0, None, 2),)] if x.ndim else x,
    lambda x, i, j: x.squeeze(i % x.ndim) if x.ndim else x,
    lambda x, i, j: x.movedim(0, -1) if x.ndim else x,
    lambda x, i, j: x.chunk(2, i % x.ndim)[0] if x.ndim else x,
    lambda x, i, j: x.expand([j % 3 or 1 if n == 1 else n for n in x.shape]),
    lambda x, i, j: x.unfold(i % x.ndim, 1, 1 + j % 2) if x.ndim and 0 not in x.shape else x,
    lambda x, i, j: x.diagonal() if x.ndim > 1 else x,
    lambda x, i, j: x.flatten(0, 1) if x.ndim > 1 and fits(x) else x,
    lambda x, i, j: x.view([*x.shape[:i], 1, *x.shape[i:]]),
    lambda x, i, j: x.view(x.shape),
    lambda x, i, j: (
        x[(slice(None),) * (i % x.ndim) + (slice(1, 1, 1 + j),)]
        if all(x.stride()) and x.ndim
        else x
    ),
    lambda x, i, j: x.detach(),
]


def chain(library: Any, seed: int) -> list[Any]:
    """Return the shape, strides and offset after each step of a random chain of views."""
    draw = random.Random(seed)
    shape = [draw.choice([1, 2, 3]) for _ in range(draw.randint(0, 3))]
    x, made = library.zeros(shape, device="cpu"), []
    for _ in range(6):
        step, i, j = draw.choice(STEPS), draw.randint(0, x.ndim), draw.randint(0, 5)
        if x.numel():
            x = step(x, i, j)
        made.append((tuple(x.shape), x.stride(), x.storage_offset() * bool(x.numel())))
        made.append(x.is_contiguous())
    return made


def test_chains_of_views_have_the_strides_of_pytorch() -> None:
    for seed in range(CHAINS):
        assert chain(dovetail, seed) == chain(torch, seed), seed


@pytest.mark.parametrize("library", [dovetail, torch])
def test_a_new_dimension_can_be_given_to_as_strided(library: Any) -> None:
    x = library.arange(6.0, device="cpu").reshape(2, 3)
    row = x[:1].unsqueeze(0)
    assert row.as_strided((2, 3), row.stride()[1:]).tolist() == x.tolist()
    assert x[0][None].as_strided((2, 3), x[0][None].stride()).tolist() == x.tolist()


def joined(library: Any, seed: int) -> Any:
    """Return the strides of elementwise results of two random chains of views, if these fit."""
    draw = random.Random(seed)
    shape = [draw.choice([1, 2, 3]) for _ in range(draw.randint(1, 4))]
    views = []
    for _ in range(2):
        own = [1 if draw.random() < 0.3 else size for size in shape[draw.randrange(2) :]]
        x = library.ones(own, device="cpu")
        if draw.random() < 0.7:
            order = draw.sample(range(len(own)), len(own))
            x = library.ones([own[axis] for axis in order], device="cpu")
            x = x.permute([order.index(axis) for axis in range(len(own))])
        if x.ndim and draw.random() < 0.3:
            x = x.expand(shape)
        if x.ndim and draw.random() < 0.3:
            x = x[..., ::2]
        views.append(x)
    try:
        made = [views[0] * views[1], views[0] < views[1], library.hypot(*views)]
    except RuntimeError:
        return None
    return [each.stride() for each in made]


def test_results_of_two_views_have_the_strides_of_pytorch() -> None:
    for seed in range(300):  # 13 of 12,000 have other strides in dimensions of size 1
        assert joined(dovetail, seed) == joined(torch, seed), seed
