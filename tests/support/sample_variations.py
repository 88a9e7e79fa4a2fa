"""Variations of samples: other dtypes, shapes, layouts, values, numbers; some are errors."""

from __future__ import annotations

import math
import random
from typing import Any

import dovetail as dt
from dovetail.testing import OpInfo, SampleInput

DTYPES = (
    [dt.float32] * 6
    + [dt.float64] * 3
    + [dt.float16, dt.int64, dt.int64, dt.int32, dt.uint8, dt.int8, dt.bool, dt.bool]
    + [dt.complex64, dt.complex128]
)
SPECIAL = [math.nan, math.inf, -math.inf]
NUMBERS = [2, 0.5, -1, 0, 1, 3, 2.0, -2.5, 1.5] * 3 + [True, False, 1 + 1j]


def varied(info: OpInfo, r: random.Random) -> SampleInput:
    """Return a sample of some dtype, of which some arguments are changed."""
    dtype = r.choice([each for each in DTYPES if each in info.dtypes] * 4 + DTYPES)
    samples = info.sample_inputs(dt.device("cpu"), dtype)
    sample = r.choice(samples)
    chances = iter([r.random() for _ in range(64)])

    def change(tensor: Any) -> Any:
        tensor = _changed(tensor, r) if next(chances) < 0.4 else tensor
        inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        return tensor.detach().requires_grad_(inexact and r.random() < 0.5)

    made = sample.transform(change)
    kinds = {a.name: a.real_type.schema_str.rstrip("?") for a in info.operator.schema.arguments}
    names = list(kinds)
    args = [
        _number(value, kinds[names[place]], r) if place < len(names) else value
        for place, value in enumerate(made.arguments)
    ]
    kwargs = {name: _number(value, kinds.get(name, ""), r) for name, value in made.kwargs.items()}
    return SampleInput(*args, **kwargs)


def _changed(x: Any, r: random.Random) -> Any:
    """Return a tensor with another dtype, shape, layout, or with special values."""
    kind = r.choice(["dtype", "dtype", "shape", "shape", "layout", "layout", "special"])
    is_index = x.dtype is dt.int64
    if kind == "dtype" and not is_index:
        return x.to(r.choice(DTYPES)) if not x.is_complex() else x
    if kind == "shape":
        return _reshaped(x, r)
    if kind == "special" and x.is_floating_point() and x.numel():
        flat = x.clone().reshape(-1)
        flat[r.randrange(x.numel())] = r.choice(SPECIAL)
        return flat.reshape(tuple(x.shape))
    return _laid_out(x, r)


def _reshaped(x: Any, r: random.Random) -> Any:
    """Return a tensor that broadcasts against `x`, or with another dimension or size."""
    if not x.ndim:
        return x.reshape(1) if r.random() < 0.5 else x.expand(2, 3)
    dim = r.randrange(x.ndim)
    choice = r.random()
    if choice < 0.4:
        return x.narrow(dim, 0, min(1, x.shape[dim]))
    if choice < 0.6:
        return x[0] if x.shape[0] else x
    if choice < 0.75:
        return x.unsqueeze(0)
    if choice < 0.9:
        return dt.cat([x, x], dim)
    return x.narrow(dim, 0, 0)


def _laid_out(x: Any, r: random.Random) -> Any:
    if not x.ndim:
        return x
    layout = r.choice(["transposed", "strided", "offset", "expanded"])
    if layout == "transposed":
        dims = tuple(range(x.ndim))[::-1]
        return x.permute(dims).contiguous().permute(dims)
    if layout == "strided":
        return dt.stack([x, x], -1).reshape((*x.shape[:-1], 2 * x.shape[-1]))[..., ::2]
    if layout == "offset":
        return dt.cat([x, x], 0)[x.shape[0] :]
    return x[:1].expand(x.shape) if x.shape[0] else x


def _number(value: Any, kind: str, r: random.Random) -> Any:
    """Return another number for a Scalar, another dimension or flag, now and then."""
    if r.random() < 0.7:
        return value
    if kind == "Scalar" and isinstance(value, int | float | complex):
        return r.choice(NUMBERS)
    if kind == "bool":
        return not value
    if kind == "int" and type(value) is int:
        return value + r.choice([-1, 1])
    return value
