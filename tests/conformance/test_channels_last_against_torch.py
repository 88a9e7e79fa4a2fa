"""Images and volumes whose channels come last in memory give results of the same order, where they
do so in PyTorch; on meta tensors too.
"""

from __future__ import annotations

import random
from math import prod
from typing import Any

import pytest
import torch

import dovetail

IMAGES, VOLUMES = (2, 3, 6, 5), (2, 3, 4, 5, 6)


def resampled(mode: str, factor: float, **details: Any) -> Any:
    return lambda lib, x: lib.nn.functional.interpolate(
        x, scale_factor=factor, mode=mode, **details
    )


def layer(name: str, *shape: int, volumes: bool = False, **details: Any) -> tuple[Any, Any]:
    """Return images or volumes, and a functional layer of them with a weight of a shape."""
    data = torch.randn(shape).numpy()
    more = [data] if shape else []

    def call(lib: Any, x: Any) -> Any:
        weights = [lib.tensor(each, device=x.device) for each in more]
        return getattr(lib.nn.functional, name)(x, *weights, **details)

    return (VOLUMES if volumes else IMAGES), call


def pooled(name: str, size: int = 2, volumes: bool = False) -> tuple[Any, Any]:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib.nn.functional, f"{name}_pool{3 if volumes else 2}d")(x, size)

    return (VOLUMES if volumes else IMAGES), call


def normalized(training: bool) -> Any:
    def call(lib: Any, x: Any) -> Any:
        statistics = [lib.zeros(3, device=x.device), lib.ones(3, device=x.device)]
        return lib.nn.functional.batch_norm(x, *statistics, training=training)

    return call


CALLS = {
    "convolution": layer("conv2d", 4, 3, 3, 2),
    "convolution of groups": layer("conv2d", 6, 1, 3, 3, groups=3, padding=1),
    "convolution of one place": layer("conv2d", 4, 3, 1, 1),
    "transposed convolution": layer("conv_transpose2d", 3, 4, 3, 2, stride=2),
    "convolution of volumes": layer("conv3d", 4, 3, 2, 3, 3, volumes=True),
    "transposed convolution of volumes": layer(
        "conv_transpose3d", 3, 2, 2, 3, 3, volumes=True, stride=2, output_padding=1
    ),
    **{f"{name} pooling": pooled(name) for name in ("max", "avg", "adaptive_avg", "adaptive_max")},
    **{
        f"{name} pooling of volumes": pooled(name, 2, True)
        for name in ("max", "avg", "adaptive_avg", "adaptive_max")
    },
    "batch norm": (IMAGES, normalized(True)),
    "batch norm in evaluation": (IMAGES, normalized(False)),
    "batch norm of volumes": (VOLUMES, normalized(True)),
    "group norm": (IMAGES, lambda lib, x: lib.nn.functional.group_norm(x, 3)),
    "instance norm": layer("instance_norm"),
    "layer norm": (IMAGES, lambda lib, x: lib.nn.functional.layer_norm(x, x.shape[1:])),
    **{
        f"padding by {mode}": (
            IMAGES,
            lambda lib, x, mode=mode: lib.nn.functional.pad(x, (1, 2, 0, 1), mode=mode),
        )
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    "padding of volumes": layer("pad", volumes=True, pad=(1, 1, 0, 2)),
    "pixel shuffle": (
        IMAGES,
        lambda lib, x: lib.nn.functional.pixel_shuffle(lib.cat([x] * 4, 1), 2),
    ),
    "pixel unshuffle": (IMAGES, lambda lib, x: lib.nn.functional.pixel_unshuffle(x[..., :4], 2)),
    "channel shuffle": layer("channel_shuffle", groups=3),
    "joined": (IMAGES, lambda lib, x: lib.cat([x, x], 1)),
    "joined with another order": (IMAGES, lambda lib, x: lib.cat([x, x.contiguous()], 2)),
    "gated": (IMAGES, lambda lib, x: lib.nn.functional.glu(x, 2)),
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


def smoothed(lib: Any, x: Any) -> Any:
    weight = lib.ones(2, x.shape[1], *[1] * (x.ndim - 2))
    return lib.nn.functional.conv2d(x, weight) if x.ndim == 4 else lib.cat([x, x])


ORDERED: dict[str, Any] = {
    "resampled": resampled("nearest", 2),
    "convolved": smoothed,
    "normalized": lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    "joined": lambda lib, x: lib.cat([x, x], 1),
    "pooled": lambda lib, x: getattr(lib.nn.functional, f"max_pool{x.ndim - 2}d")(x, 1),
    "padded": lambda lib, x: lib.nn.functional.pad(x, (1, 0)),
}


@pytest.mark.cpu_only(reason="elsewhere `as_strided` does not keep strides of dimensions of size 1")
@pytest.mark.parametrize("name", ORDERED)
def test_which_orders_are_channels_last(name: str) -> None:
    call = ORDERED[name]
    chosen = random.Random(0)
    for _ in range(200):
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
        if chosen.random() < 0.2 and name != "pooled":
            strides[chosen.randrange(ndim)] = 0
        if prod(shape) == shape[1]:
            continue  # neither can normalize one element
        ours, theirs = [
            call(lib, lib.zeros(room).as_strided(shape, strides)).stride()
            for lib in (dovetail, torch)
        ]
        assert ours == theirs, (shape, strides)
