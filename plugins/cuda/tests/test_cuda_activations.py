"""Activations of one launch give what they give on the CPU, at their bends and beyond them."""

from __future__ import annotations

import math

import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

ACTIVATIONS = {
    "sigmoid": dovetail.sigmoid,
    "tanh": dovetail.tanh,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": F.softplus,
    "softplus with a scale": lambda x: F.softplus(x, 0.5, 3.0),
    "logsigmoid": F.logsigmoid,
    "hardswish": F.hardswish,
    "mish": F.mish,
}
SPECIAL = [math.nan, 0.0, -0.0, 1e-30, 100.0, -100.0, 3.0, -3.0, 20.0, 20.5, 6.0, -6.0]
VALUES = [*SPECIAL, *[each / 4 for each in range(-25, 26)]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    found = []
    for device in ("cpu", "cuda"):
        x = dovetail.tensor(VALUES, dtype=getattr(dovetail, dtype), device=device)
        y = ACTIVATIONS[name](x.requires_grad_())
        y.backward(dovetail.full_like(y, 2.0))
        found.append((y.detach().cpu(), x.grad.cpu()))
    for of_cpu, of_cuda in zip(*found, strict=True):
        dovetail.testing.assert_close(of_cuda, of_cpu, equal_nan=True)
