"""Normalization: running statistics, passes that overlap, and arguments that are refused, as in
PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from same_programs import Programs, assert_same, plain, tried

import dovetail

PROGRAMS = Programs()


def numbers(lib: Any, *shape: int, dtype: Any = None) -> Any:
    count = 1
    for size in shape:
        count *= size
    flat = (lib.arange(count, dtype=lib.float64) * 0.7 - 2).sin()
    return flat.reshape(shape).to(dtype or lib.float32)


def joined(lib: Any, *tensors: Any) -> Any:
    """Return the elements of all, which are compared up to rounding."""
    return lib.cat([tensor.detach().double().reshape(-1) for tensor in tensors])


@PROGRAMS("running statistics of three batches")
def _(lib: Any) -> Any:
    found = []
    for dtype in (lib.float32, lib.float64):
        mean, var = lib.zeros(3, dtype=dtype), lib.ones(3, dtype=dtype)
        for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 2)):
            x = numbers(lib, *shape, dtype=dtype)
            lib.nn.functional.batch_norm(x, mean, var, training=True, momentum=0.3)
        found += [mean, var]
    return joined(lib, *found)


@PROGRAMS("running statistics of instances")
def _(lib: Any) -> Any:
    mean, var = lib.zeros(3), lib.ones(3)
    x = numbers(lib, 2, 3, 4)
    made = lib.nn.functional.instance_norm(x, mean, var, momentum=0.3)
    other = lib.nn.functional.instance_norm(x, mean, var, use_input_stats=False)
    return joined(lib, made, mean, var, other)


@PROGRAMS("a batch between the forward and the backward of another")
def _(lib: Any) -> Any:
    mean, var = lib.zeros(3), lib.ones(3)
    x = numbers(lib, 4, 3).requires_grad_()
    first = lib.nn.functional.batch_norm(x, mean, var, training=True)
    second = lib.nn.functional.batch_norm(x * 2, mean, var, training=True)
    (first * numbers(lib, 4, 3)).sum().backward()
    (second * numbers(lib, 4, 3)).sum().backward()
    return joined(lib, x.grad, mean, var)


@PROGRAMS("gradients of gradients in training and evaluation")
def _(lib: Any) -> Any:
    found = []
    for training in (True, False):
        x = numbers(lib, 2, 3, 4, dtype=lib.float64).requires_grad_()
        weight = numbers(lib, 3, dtype=lib.float64).requires_grad_()
        running = lib.ones(3, dtype=lib.float64) * 0.5, lib.ones(3, dtype=lib.float64) * 2
        y = lib.nn.functional.batch_norm(x, *running, weight, training=training)
        (g,) = lib.autograd.grad((y**3).sum(), x, create_graph=True)
        found += lib.autograd.grad((g**2).sum(), (x, weight))
    return joined(lib, *found)


@PROGRAMS("dtypes of half precision beside parameters in single precision")
def _(lib: Any) -> Any:
    x = numbers(lib, 2, 4, 3).to(lib.bfloat16)
    one = lib.ones(4)
    made = [
        *lib.native_batch_norm(x, one, one, one * 0, one, True, 0.1, 1e-5),
        *lib.native_batch_norm(x, one, one, one * 0, one, False, 0.1, 1e-5),
        *lib.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5),
        *lib.native_group_norm(x, one, one, 2, 4, 3, 2, 1e-5),
        lib.nn.functional.rms_norm(x, (3,)),
    ]
    return [(str(each.dtype).rpartition(".")[2], tuple(each.shape)) for each in made]


REFUSED = {
    "one number for each channel": lambda F, lib: F.batch_norm(
        lib.ones(1, 3), None, None, training=True
    ),
    "too few weights": lambda F, lib: F.batch_norm(
        lib.ones(2, 3), None, None, lib.ones(2), training=True
    ),
    "too few running means": lambda F, lib: F.batch_norm(lib.ones(2, 3), lib.ones(2), lib.ones(3)),
    "no running variance": lambda F, lib: F.batch_norm(lib.ones(2, 3), lib.ones(3), None),
    "a batch of integers": lambda F, lib: F.batch_norm(
        lib.ones(2, 3, dtype=lib.int64), None, None, training=True
    ),
    "weights of another dtype": lambda F, lib: F.batch_norm(
        lib.ones(2, 3), None, None, lib.ones(3, dtype=lib.float64), training=True
    ),
    "one number in each instance": lambda F, lib: F.instance_norm(lib.ones(2, 3, 1)),
    "one of two statistics": lambda F, lib: F.instance_norm(lib.ones(2, 3, 4), lib.ones(3)),
    "groups that do not divide": lambda F, lib: F.group_norm(lib.ones(2, 3, 4), 2),
    "one number in each group": lambda F, lib: F.group_norm(lib.ones(1, 3), 3),
    "groups of a vector": lambda F, lib: F.group_norm(lib.ones(3), 1),
    "no normalized shape": lambda F, lib: F.rms_norm(lib.ones(3), ()),
    "another normalized shape": lambda F, lib: F.rms_norm(lib.ones(2, 3), (2,)),
    "too few dimensions for neighbours": lambda F, lib: F.local_response_norm(lib.ones(2, 3), 2),
    "no neighbours": lambda F, lib: F.local_response_norm(lib.ones(2, 3, 4), 0),
}

for name, call in REFUSED.items():
    PROGRAMS[name] = lambda lib, call=call: tried(lambda: call(lib.nn.functional, lib), words=2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_normalization_does_what_pytorchs_does(name: str) -> None:
    assert_same(PROGRAMS[name], close=True)


@pytest.mark.parametrize("order", ["rows", "columns", "with gaps"])
@pytest.mark.parametrize("name", ["batch_norm", "group_norm"])
def test_channels_of_many_short_images_lose_no_digits(name: str, order: str) -> None:
    """Sums of images one after the other had errors of 1e-5."""

    def results(lib: Any, numbers: Any) -> list[Any]:
        shape = (60_000, 3) if name == "batch_norm" else (2, 60_000, 2)
        x = lib.tensor(numbers.reshape(shape))
        if order == "columns":
            x = x.transpose(0, 1).contiguous().transpose(0, 1)
        elif order == "with gaps":
            x = lib.stack([x, x], -1)[..., 0]
        channels = shape[1]
        weight, bias = x.new_ones(channels), x.new_zeros(channels)
        given = [each.requires_grad_() for each in (x.detach(), weight, bias)]
        normalized = (
            lib.nn.functional.batch_norm(given[0], None, None, *given[1:], training=True)
            if name == "batch_norm"
            else lib.nn.functional.group_norm(given[0], 2, *given[1:])
        )
        gradients = lib.autograd.grad((normalized * x).sum(), given)
        return [each.detach().cpu().numpy().astype(float) for each in (normalized, *gradients)]

    numbers = np.random.default_rng(0).random(240_000 if name == "group_norm" else 180_000) + 0.5
    numbers = numbers.astype(np.float32)
    exact = results(torch, numbers.astype(float))
    for mine, other, best in zip(
        results(dovetail, numbers), results(torch, numbers), exact, strict=True
    ):
        errors = [np.abs(each - best).max() / np.abs(best).max() for each in (mine, other)]
        assert errors[0] <= max(4 * errors[1], 6e-7)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (1, 3, 1, 1)])
def test_weights_of_channels_are_counted_whatever_their_shape(
    shape: tuple[int, ...], training: bool
) -> None:
    def results(lib: Any) -> Any:
        weight, bias = [lib.full(shape, each) for each in (2.0, 3.0)]
        given = (lib.arange(12.0).reshape(2, 3, 2), lib.zeros(3), lib.ones(3), weight, bias)
        return plain(lib.nn.functional.batch_norm(*given, training), 4)

    assert results(dovetail) == results(torch)
