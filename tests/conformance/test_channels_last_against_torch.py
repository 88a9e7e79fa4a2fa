"""Images and volumes whose channels come last in memory give results of the same order, where they
do so in PyTorch; on meta tensors too.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import dovetail

IMAGES, VOLUMES = (2, 3, 6, 5), (2, 3, 4, 5, 6)


def resampled(mode: str, factor: float, **details: Any) -> Any:
    return lambda lib, x: lib.nn.functional.interpolate(
        x, scale_factor=factor, mode=mode, **details
    )


CALLS = {
    "nearest": (IMAGES, resampled("nearest", 2)),
    "nearest-exact": (IMAGES, resampled("nearest-exact", 2)),
    "bilinear": (IMAGES, resampled("bilinear", 0.5)),
    "bicubic": (IMAGES, resampled("bicubic", 2)),
    "bilinear, smoothed": (IMAGES, resampled("bilinear", 0.5, antialias=True)),
    "bicubic, smoothed": (IMAGES, resampled("bicubic", 0.5, antialias=True)),
    "nearest of volumes": (VOLUMES, resampled("nearest", 2)),
    "nearest-exact of volumes": (VOLUMES, resampled("nearest-exact", 2)),
    "trilinear": (VOLUMES, resampled("trilinear", 2)),
}
"""A shape and a function by name."""


def channels_last(lib: Any, x: Any) -> Any:
    """Return a tensor with its channels last in memory."""
    name = "channels_last" if x.ndim == 4 else "channels_last_3d"
    return x.contiguous(memory_format=getattr(lib, name))


@pytest.mark.parametrize("name", CALLS)
def test_values_gradients_and_strides(name: str) -> None:
    shape, call = CALLS[name]
    data = torch.randn(shape).numpy()
    found = []
    for lib in (dovetail, torch):
        x = channels_last(lib, lib.tensor(data)).requires_grad_()
        y = call(lib, x)
        grad = channels_last(lib, lib.ones_like(y).cumsum(-1))
        (to_x,) = lib.autograd.grad(y, x, grad)
        found.append((y.detach(), to_x))
    for ours, theirs in zip(*found, strict=True):
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(torch.tensor(ours.tolist()), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_meta_tensors_have_the_strides_of_results(name: str) -> None:
    shape, call = CALLS[name]
    found = []
    for device in (dovetail.get_default_device(), dovetail.device("meta")):
        x = channels_last(dovetail, dovetail.ones(shape, device=device)).requires_grad_()
        y = call(dovetail, x)
        (to_x,) = dovetail.autograd.grad(y, x, channels_last(dovetail, dovetail.ones_like(y)))
        found.append((y.stride(), to_x.stride()))
    assert found[0] == found[1]


@pytest.mark.cpu_only(reason="elsewhere `as_strided` does not keep strides of dimensions of size 1")
def test_which_orders_are_channels_last() -> None:
    chosen = random.Random(0)
    call = resampled("nearest", 2)
    for _ in range(300):
        ndim = chosen.choice((4, 5))
        shape = [chosen.choice((1, 1, 2, 3)) for _ in range(ndim)]
        order = chosen.choice(
            ((0, *range(2, ndim), 1), range(ndim), chosen.sample(range(ndim), ndim))
        )
        strides, step = [0] * ndim, 1
        for dim in reversed(order):
            strides[dim] = step
            step *= shape[dim] + chosen.choice((0, 0, 0, 1))
        room = 1 + sum([(n - 1) * each for n, each in zip(shape, strides, strict=True)])
        if chosen.random() < 0.2:
            strides[chosen.randrange(ndim)] = 0
        ours, theirs = [
            call(lib, lib.zeros(room).as_strided(shape, strides)).stride()
            for lib in (dovetail, torch)
        ]
        assert ours == theirs, (shape, strides)
