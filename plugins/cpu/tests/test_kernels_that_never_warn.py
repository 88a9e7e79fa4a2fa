"""Kernels without a quiet error state, on what others would warn of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail_aten as at
from dovetail_kernel import bfloat16, float16, float32, float64

pytestmark = pytest.mark.cpu_only(reason="the warnings are NumPy's")

_BITS = {float16: (0x7D00, 0x7E00, 0x7C00), float32: (0x7FA00000, 0x7FC00000, 0x7F800000)}
_BITS[bfloat16] = (0x7FA0, 0x7FC0, 0x7F80)
_BITS[float64] = (0x7FF4 << 48, 0x7FF8 << 48, 0x7FF0 << 48)

MASK = at.tensor([[True, False, True], [False, True, True], [False, False, True]])

CALLS: dict[str, Callable[[Any], Any]] = {
    "max": at.max,
    "min": at.min,
    "max along rows": lambda x: at.max(x, 1),
    "min along columns": lambda x: at.min(x, 0),
    "amax": lambda x: at.amax(x, (0,)),
    "amin": at.amin,
    "argmax": lambda x: at.argmax(x, 1),
    "argmin": at.argmin,
    "clamp": lambda x: at.clamp(x, -1.0, 1.0),
    "clamp to tensors": lambda x: at.clamp(x, x, x),
    "clamp_min": lambda x: at.clamp_min(x, 0.5),
    "clamp_max": lambda x: at.clamp_max(x, 0.5),
    "index": lambda x: x[at.tensor([0, 2])],
    "mask": lambda x: x[at.tensor([True, False, True])],
    "index_select": lambda x: at.index_select(x, 1, at.tensor([0, 2])),
    "gather": lambda x: at.gather(x, 1, at.tensor([[0, 2], [1, 1], [0, 0]])),
    "masked_select": lambda x: at.masked_select(x, MASK),
    "masked_fill": lambda x: at.masked_fill(x, MASK, 0.0),
    "tril": at.tril,
    "nonzero": at.nonzero,
    "constant_pad_nd": lambda x: at.constant_pad_nd(x, (1, 1), 2.5),
}


@pytest.mark.parametrize("dtype", _BITS, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_said_of_nan_and_infinities(name: str, dtype: Any) -> None:
    kind = np.dtype(f"u{dtype.itemsize}")
    signaling, quiet, infinite = _BITS[dtype]
    bits = np.array([[signaling, 0, quiet], [infinite, 1, quiet], [1, infinite, signaling]], kind)
    x = at.from_numpy(bits.view(f"i{dtype.itemsize}")).view(dtype)
    with np.errstate(all="raise"):
        CALLS[name](x)
        CALLS[name](x.t())


FACTORIES: dict[str, Callable[[], Any]] = {
    "linspace from infinity": lambda: at.linspace(float("inf"), 1.0, 3),
    "logspace that overflows": lambda: at.logspace(1.0, 400.0, 3),
    "logspace of 0": lambda: at.logspace(1.0, -2.5, 2, 0.0),
    "a number beyond half precision": lambda: at.where(MASK, 1e10, at.ones(3, 3, dtype=float16)),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_keep_warnings_of_numpy_to_themselves(name: str) -> None:
    FACTORIES[name]()  # warnings are errors
