"""Numbers beside tensors of half precision: rounded where PyTorch rounds them, and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

Call = Callable[[Any, Any, Any, float], Any]

CALLS: dict[str, Call] = {
    "x + n": lambda lib, x, y, n: x + n,
    "x - n": lambda lib, x, y, n: x - n,
    "n - x": lambda lib, x, y, n: n - x,
    "x * n": lambda lib, x, y, n: x * n,
    "n * x": lambda lib, x, y, n: n * x,
    "x / n": lambda lib, x, y, n: x / n,
    "x // n": lambda lib, x, y, n: x // n,
    "x % n": lambda lib, x, y, n: x % n,
    "x * n twice": lambda lib, x, y, n: x * n * (1 / n),
    "x < n": lambda lib, x, y, n: x < n,
    "x == n": lambda lib, x, y, n: x == n,
    "div, trunc": lambda lib, x, y, n: lib.div(x, n, rounding_mode="trunc"),
    "div, floor": lambda lib, x, y, n: lib.div(x, n, rounding_mode="floor"),
    "divide": lambda lib, x, y, n: lib.divide(x, n),
    "multiply": lambda lib, x, y, n: lib.multiply(x, n),
    "fmod": lambda lib, x, y, n: lib.fmod(x, n),
    "remainder": lambda lib, x, y, n: lib.remainder(x, n),
    "copysign": lambda lib, x, y, n: lib.copysign(x, n),
    "add, alpha": lambda lib, x, y, n: lib.add(x, y, alpha=n),
    "sub, alpha": lambda lib, x, y, n: lib.sub(x, y, alpha=n),
    "addcmul": lambda lib, x, y, n: lib.addcmul(x, y, x, value=n),
    "addcdiv": lambda lib, x, y, n: lib.addcdiv(x, y, x, value=n),
    "lerp": lambda lib, x, y, n: lib.lerp(x, y, n),
    "clamp_min": lambda lib, x, y, n: lib.clamp_min(x, n),
    "where": lambda lib, x, y, n: lib.where(x > 0, x, n),
    "masked_fill": lambda lib, x, y, n: x.masked_fill(x > 0, n),
    "leaky_relu": lambda lib, x, y, n: lib.nn.functional.leaky_relu(x, n),
    "mul.Scalar": lambda lib, x, y, n: lib.ops.aten.mul.Scalar(x, n),
    "div.Scalar": lambda lib, x, y, n: lib.ops.aten.div.Scalar(x, n),
    "x * 0-d": lambda lib, x, y, n: x * lib.tensor(n),
    "0-d * x": lambda lib, x, y, n: lib.tensor(n) * x,
    "x / 0-d": lambda lib, x, y, n: x / lib.tensor(n, dtype=lib.float64),
    "0-d / x": lambda lib, x, y, n: lib.tensor(n) / x,
    "x // 0-d": lambda lib, x, y, n: x // lib.tensor(n),
    "x + 0-d": lambda lib, x, y, n: x + lib.tensor(n),
    "x % 0-d": lambda lib, x, y, n: x % lib.tensor(n),
    "x * integer": lambda lib, x, y, n: x * 70001,
    "x / integer": lambda lib, x, y, n: x / 70001,
    "x * 0-d integer": lambda lib, x, y, n: x * lib.tensor(70001),
    "0-d x": lambda lib, x, y, n: lib.stack([each * n for each in x[:9]]),
    "mul_": lambda lib, x, y, n: x.clone().mul_(n),
    "div_": lambda lib, x, y, n: x.clone().div_(n),
    "mul_, 0-d": lambda lib, x, y, n: x.clone().mul_(lib.tensor(n)),
    "floor_divide_": lambda lib, x, y, n: x.clone().floor_divide_(n),
    "add_": lambda lib, x, y, n: x.clone().add_(n),
    "addcmul_": lambda lib, x, y, n: x.clone().addcmul_(y, x, value=n),
    "addcdiv_": lambda lib, x, y, n: x.clone().addcdiv_(y, x, value=n),
    "mul, out": lambda lib, x, y, n: lib.mul(x, lib.tensor(n), out=lib.empty_like(x)),
    "div, out": lambda lib, x, y, n: lib.div(x, lib.tensor(n), out=lib.empty_like(x)),
    "mean": lambda lib, x, y, n: (x * n).mean(),
}

ROUNDED_TWICE = {"add, alpha", "sub, alpha", "lerp"}
"""Calls whose products PyTorch does not round: results may differ in the last place of these."""

REFUSED = {"clamp_min", "masked_fill", "add, alpha", "sub, alpha"}
"""Calls that both libraries, or PyTorch, refuse for numbers that overflow."""

WITHOUT_GRADIENT = {"x // n", "x // 0-d", "floor_divide_", "mul, out", "div, out"}

NUMBERS = (1 / 3, 1.0001, 2.7182818, 0.1234567, 5.4321, 1.3e-6, 1.3e-7, 777.7, 7.1e4)
GREAT = 65504.0
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def tensors(lib: Any, dtype: str, number: float, seed: int) -> tuple[Any, Any]:
    """Return two tensors of values at which it matters how `number` is rounded."""
    rng = np.random.default_rng(seed)
    near = number * np.linspace(0.9, 1.1, 40) if number < GREAT / 2 else rng.normal(size=40)
    values = np.concatenate([rng.normal(size=50) * 3, near, number * np.arange(3) % 100])
    x = lib.tensor(values.astype(np.float32), dtype=getattr(lib, dtype))
    return x, x.flip(0)


def result(lib: Any, call: Call, dtype: str, number: float, seed: int, *, grad: bool) -> list[Any]:
    x, y = tensors(lib, dtype, number, seed)
    if grad:
        x.requires_grad_()
    found = call(lib, x, y, number)
    results = [found]
    if found.requires_grad:
        results += lib.autograd.grad(found.sum(), x)
    return [(str(each.dtype).split(".")[1], each.detach().float().tolist()) for each in results]


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_a_number_beside_half_precision_is_rounded_where_pytorch_rounds_it(
    name: str, dtype: str
) -> None:
    seed = random.Random(name).randrange(10**6)
    for number in NUMBERS:
        if name in REFUSED and dtype == "float16" and number > GREAT:
            continue
        for grad in (False,) if name in WITHOUT_GRADIENT else (False, True):
            ours = result(dovetail, CALLS[name], dtype, number, seed, grad=grad)
            theirs = result(torch, CALLS[name], dtype, number, seed, grad=grad)
            for (our_dtype, mine), (their_dtype, expected) in zip(ours, theirs, strict=True):
                assert our_dtype == their_dtype
                ulps = EPSILON[dtype] if name in ROUNDED_TWICE else 0.0
                context = f"{number}, grad={grad}, seed {seed}"
                atol = (
                    ulps * number * np.max(np.abs(tensors(torch, dtype, number, seed)[0].tolist()))
                )
                np.testing.assert_allclose(mine, expected, ulps, atol, err_msg=context)
