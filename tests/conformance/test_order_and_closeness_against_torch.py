"""Orders with NaN in every dtype, and comparisons of integers whose difference overflows."""

from __future__ import annotations

import random

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

NAN, INF = float("nan"), float("inf")
HARD = [3.0, NAN, 1.0, -INF, 2.0, NAN, INF, 0.0, -1.5]
ORDERS = {
    "sort": lambda lib, x: lib.sort(x, dim=0)[0],
    "sort of columns": lambda lib, x: lib.sort(x.reshape(3, -1), dim=0)[0],
    "sort downwards": lambda lib, x: lib.sort(x, dim=0, descending=True)[0],
    "argsort": lambda lib, x: x[lib.argsort(x)],
    "topk": lambda lib, x: lib.topk(x, 4)[0],
    "least topk": lambda lib, x: lib.topk(x, 4, largest=False)[0],
    "max": lambda lib, x: lib.max(x),
    "min": lambda lib, x: lib.min(x),
    "max along": lambda lib, x: lib.max(x, 0)[0],
    "amax": lambda lib, x: lib.amax(x),
    "amin": lambda lib, x: lib.amin(x),
    "argmax": lambda lib, x: lib.argmax(x),
    "argmin": lambda lib, x: lib.argmin(x),
    "maximum": lambda lib, x: lib.maximum(x, x.flip(0)),
    "minimum": lambda lib, x: lib.minimum(x, x.flip(0)),
    "clamp": lambda lib, x: lib.clamp(x, 0.0, 2.0),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [9, 72, 300])
@pytest.mark.parametrize("order", ORDERS)
def test_nan_is_the_greatest_in_every_dtype(order: str, length: int, dtype: str) -> None:
    values = (HARD * 40)[:length]
    random.Random(length).shuffle(values)
    ours, theirs = (
        repr(ORDERS[order](lib, lib.tensor(values, dtype=getattr(lib, dtype))).tolist())
        for lib in (dovetail, torch)
    )
    assert ours == theirs


@pytest.mark.parametrize("limits", [{}, {"rtol": 0.5}, {"atol": 3, "rtol": 0.0}])
@pytest.mark.parametrize("bits", [8, 16, 32, 64, -8])
def test_integers_are_close_by_their_true_distance(bits: int, limits: dict[str, float]) -> None:
    low, high = (0, 255) if bits < 0 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    dtype = dovetail.uint8 if bits < 0 else getattr(dovetail, f"int{bits}")
    values = [low, low + 1, 0, 1, high // 2, high - 1, high]
    pairs = [(a, b) for a in values for b in values]
    x, y = (dovetail.tensor([pair[i] for pair in pairs], dtype=dtype) for i in (0, 1))
    atol, rtol = limits.get("atol", 1e-8), limits.get("rtol", 1e-5)
    expected = [abs(a - b) <= atol + abs(rtol * b) for a, b in pairs]
    assert dovetail.isclose(x, y, **limits).tolist() == expected
    for a, b, close in zip(x, y, expected, strict=True):
        assert dovetail.allclose(a, b, **limits) is close
