"""Pooling: maxima and averages over windows of images, and their gradients, by one kernel each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.families import (
    AveragePooling,
    Divisors,
    MaxPooling,
    PooledPlaces,
    Runs,
    check_pooled,
    pooled_windows,
)
from dovetail_aten.typing import Array

from ..index_errors import PLACE, check_index
from ..kernel_support.device_code import pointwise

_DIMS: Final = 3
"""What kernels see: images have as many dimensions, of length 1 where there are fewer."""
_AXES: Final = "abc"
_SIZES: Final = ", ".join(f"int64 in_{each}, int64 out_{each}" for each in _AXES)
_WHERE = """
long long rest = i;
const long long c = rest % out_c; rest /= out_c;
const long long b = rest % out_b; rest /= out_b;
const long long a = rest % out_a; rest /= out_a;
const long long image = rest * in_a * in_b * in_c;
"""
"""Which result a thread computes, and where its image begins."""
_MAXIMA = f"""
{_WHERE}
bool found = false;
T best = (T)0;
for (long long u = first(a, step_a, pad_a); u < last(a, step_a, pad_a, long_a, in_a); ++u)
for (long long v = first(b, step_b, pad_b); v < last(b, step_b, pad_b, long_b, in_b); ++v)
for (long long w = first(c, step_c, pad_c); w < last(c, step_c, pad_c, long_c, in_c); ++w) {{
  const long long at = (u * in_b + v) * in_c + w;
  const T value = x[image + at];
  if (!found || value > best || value != value) {{ best = value; place = at; found = true; }}
}}
y = best;
"""
_OF_WINDOW = """
__device__ inline long long first(long long n, long long step, long long pad) {
  const long long start = n * step - pad;
  return start > 0 ? start : 0;
}
__device__ inline long long last(
    long long n, long long step, long long pad, long long size, long long limit) {
  const long long stop = n * step - pad + size;
  return stop < limit ? stop : limit;
}
"""
_STEPS: Final = ", ".join(f"int64 step_{e}, int64 pad_{e}, int64 long_{e}" for e in _AXES)
_RUNS: Final = ", ".join(f"raw int64 starts_{e}, raw int64 stops_{e}" for e in _AXES)
_DIVIDED: Final = ", ".join(f"raw int64 lengths_{e}" for e in _AXES)
_INSIDE = "".join(
    f"for (long long {at} = max(0LL, (long long)starts_{e}[{e}]); "
    f"{at} < min((long long)in_{e}, (long long)stops_{e}[{e}]); ++{at})\n"
    for at, e in zip("uvw", _AXES, strict=True)
)
_AVERAGE = f"""
{_WHERE}
W sum = 0;
{_INSIDE}
  sum += WIDE(x[image + (u * in_b + v) * in_c + w]);
y = (T)(sum / (W)(lengths_a[a] * lengths_b[b] * lengths_c[c] * divisor));
"""
_AVERAGE_BACKWARD = f"""
{_WHERE}
W sum = 0;
{_INSIDE}
  sum += WIDE(x[image + (u * in_b + v) * in_c + w])
    / (W)(lengths_a[u] * lengths_b[v] * lengths_c[w] * divisor);
y = (T)sum;
"""
_PUT = """
const long long at = place;
const long long wrapped = at < 0 || at >= limit ? 0 : at;
"""


class FusedMaxPooling(MaxPooling):
    """Maxima and their places."""

    def _max_pool(
        self,
        name: str,
        ndim: int,
        x: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Any, Any]:
        how = (kernel_size, stride, padding, dilation, ceil_mode)
        windows = pooled_windows(name, ndim, x.shape, *how)
        apart = any([each.dilation > 1 for each in windows])
        if apart or not x.size or x.dtype not in self.precision.real_floats:
            return MaxPooling._max_pool(self, name, ndim, x, *how)
        shape = (*x.shape[:-ndim], *[each.number for each in windows])
        made, places = cupy.empty(shape, x.dtype), cupy.empty(shape, np.int64)
        steps = [(each.stride, each.padding, each.kernel) for each in windows]
        kernel = pointwise(
            "max_pool", f"raw T x, {_SIZES}, {_STEPS}", "T y, int64 place", _MAXIMA, _OF_WINDOW
        )
        kernel(
            self.capabilities.contiguous(x),
            *_three([(each.size, each.number) for each in windows], (1, 1)),
            *_three(steps, (1, 0, 1)),
            made,
            places,
        )
        return made, places


class FusedAveragePooling(AveragePooling):
    """Averages: each result, and each element of a gradient, sums over what it is made of."""

    def _averages(self, x: Array, runs: Sequence[Runs], divisors: Divisors) -> Any:
        if not x.size or x.dtype not in self.precision.real_floats:
            return AveragePooling._averages(self, x, runs, divisors)
        return self._by_runs("avg_pool", _AVERAGE, x, runs, divisors)

    def _gradient(
        self, name: str, grad: Array, x: Array, runs: Sequence[Runs], divisors: Divisors
    ) -> Any:
        if not grad.size or grad.dtype not in self.precision.real_floats:
            return AveragePooling._gradient(self, name, grad, x, runs, divisors)
        numbers = [len(each.starts) for each in runs]
        check_pooled(name, grad.shape, (*x.shape[: x.ndim - len(runs)], *numbers), "the gradient")
        back = [each.transposed() for each in runs]
        return self._by_runs("avg_pool_backward", _AVERAGE_BACKWARD, grad, back, divisors)

    def _by_runs(
        self, name: str, code: str, x: Any, runs: Sequence[Runs], divisors: Divisors
    ) -> Any:
        """Return what the kernel `name` makes of the runs of `x` along its last dimensions."""
        missing = (Runs(1, (0,), (1,)),) * (_DIMS - len(runs))
        each_run = (*missing, *runs)
        if isinstance(divisors, int):
            lengths = [(1,) * max(run.size, len(run.starts)) for run in each_run]
            divisor = divisors
        else:
            lengths = [*[(1,)] * len(missing), *[tuple(each) for each in divisors]]
            divisor = 1
        made = cupy.empty((*x.shape[: x.ndim - len(runs)], *[len(r.starts) for r in runs]), x.dtype)
        if not made.size:
            return made
        device = x.device.id
        arrays = [
            _on_device(numbers, device) for run in each_run for numbers in (run.starts, run.stops)
        ]
        parameters = f"raw T x, {_SIZES}, {_RUNS}, {_DIVIDED}, int64 divisor"
        pointwise(name, parameters, "T y", code)(
            self.capabilities.contiguous(x),
            *[number for run in each_run for number in (run.size, len(run.starts))],
            *arrays,
            *[_on_device(each, device) for each in lengths],
            divisor,
            made,
        )
        return made


class FusedPooledPlaces(PooledPlaces):
    """Gradients of maxima, and unpooling, without waiting for the device."""

    def _check_places(self, indices: Array, sizes: Sequence[int]) -> None:
        check_index(indices, 0, math.prod(sizes), 0, PLACE, RuntimeError)

    def _at_places(
        self, values: Array, indices: Array, sizes: Sequence[int], accumulate: bool
    ) -> Any:
        if values.dtype.name not in ("float32", "float64"):  # what is added to at once
            return PooledPlaces._at_places(self, values, indices, sizes, accumulate)
        lead = values.shape[: values.ndim - len(sizes)]
        inner, limit = math.prod(values.shape[len(lead) :]), math.prod(sizes)
        made = cupy.zeros((*lead, *sizes), values.dtype)
        put = "atomicAdd(&sums[to], value);" if accumulate else "sums[to] = value;"
        kernel = pointwise(
            "add_at_places" if accumulate else "put_at_places",
            "T value, int64 place, int64 inner, int64 limit",
            "raw T sums",
            f"{_PUT} const long long to = i / inner * limit + wrapped; {put}",
        )
        if values.size and made.size:
            kernel(values, indices, inner, limit, made)
        return made


def _three(rows: Sequence[tuple[int, ...]], missing: tuple[int, ...]) -> Iterator[int]:
    """Yield the numbers of all dimensions, and before them those of the missing ones."""
    for row in (*[missing] * (_DIMS - len(rows)), *rows):
        yield from row


@lru_cache(maxsize=1024)
def _on_device(numbers: tuple[int, ...], device: int) -> Any:
    """Return numbers as an array of a device, which is the current one."""
    return cupy.asarray(numbers, dtype=np.int64)
