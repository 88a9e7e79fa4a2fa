"""Pooling in NumPy, window by window, as it is defined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

Spans = list[list[range]]
"""For each dimension the elements of each window; those outside of the image are padding."""


def _each(values: Any, ndim: int) -> list[int]:
    given = [values] if isinstance(values, int) else [*values]
    return given * ndim if len(given) == 1 else given


def spans_of(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Spans:
    ndim = len(sizes)
    rows = zip(
        sizes,
        *[_each(each, ndim) for each in (kernel, stride or kernel, padding, dilation)],
        strict=True,
    )
    made = []
    for size, k, s, p, d in rows:
        span = d * (k - 1) + 1
        fit = [at for at in range(-p, size + p, s) if at + span <= size + p]
        following = -p + len(fit) * s
        if ceil_mode and (size + 2 * p - span) % s and following < size:
            fit.append(following)
        made.append([range(at, at + span, d) for at in fit])
    return made


def adaptive_spans(sizes: Sequence[int], numbers: Sequence[int]) -> Spans:
    return [
        [range(math.floor(i * n / out), math.ceil((i + 1) * n / out)) for i in range(out)]
        for n, out in zip(sizes, _each(numbers, len(sizes)), strict=True)
    ]


def _windows(spans: Spans) -> Iterator[tuple[tuple[int, ...], list[range]]]:
    for place in product(*[range(len(each)) for each in spans]):
        yield place, [each[at] for each, at in zip(spans, place, strict=True)]


def _inside(window: Sequence[range], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    lines = [[at for at in each if 0 <= at < n] for each, n in zip(window, sizes, strict=True)]
    return list(product(*lines))


def maxima(x: Any, spans: Spans) -> tuple[Any, Any]:
    sizes = x.shape[x.ndim - len(spans) :]
    shape = (*x.shape[: x.ndim - len(spans)], *map(len, spans))
    values: Any = np.empty(shape, x.dtype)
    places: Any = np.empty(shape, np.int64)
    for place, window in _windows(spans):
        inside = _inside(window, sizes)
        elements = np.stack([x[(..., *at)] for at in inside], -1)
        flat = np.array([np.ravel_multi_index(at, sizes) for at in inside])
        found = elements.argmax(-1)
        places[(..., *place)] = flat[found]
        values[(..., *place)] = elements.max(-1)
    return values, places


def averages(x: Any, spans: Spans, count: Callable[[list[range], int], int]) -> Any:
    sizes = x.shape[x.ndim - len(spans) :]
    made: Any = np.empty((*x.shape[: x.ndim - len(spans)], *map(len, spans)), x.dtype)
    for place, window in _windows(spans):
        inside = _inside(window, sizes)
        total = sum(x[(..., *at)] for at in inside)
        number = count(window, len(inside))
        made[(..., *place)] = total / number if x.dtype.kind in "fc" else np.trunc(total / number)
    return made


def max_pool(ndim: int) -> Callable[..., Any]:
    def reference(
        x: np.ndarray, kernel: Sequence[int], stride: Sequence[int] = (),
        padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,), ceil_mode: bool = False
    ) -> Any:  # fmt: skip
        return maxima(x, spans_of(x.shape[-ndim:], kernel, stride, padding, dilation, ceil_mode))

    return reference


def avg_pool(ndim: int) -> Callable[..., Any]:
    def reference(
        x: np.ndarray, kernel: Sequence[int], stride: Sequence[int] = (),
        padding: Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None
    ) -> Any:  # fmt: skip
        sizes, pads = x.shape[-ndim:], _each(padding, ndim)

        def count(window: list[range], inside: int) -> int:
            if divisor_override is not None:
                return divisor_override
            if not count_include_pad:
                return inside
            ends = [n + p for n, p in zip(sizes, pads, strict=True)]
            return math.prod(
                [
                    len([at for at in each if at < end])
                    for each, end in zip(window, ends, strict=True)
                ]
            )

        return averages(x, spans_of(sizes, kernel, stride, padding, (1,), ceil_mode), count)

    return reference


def adaptive_max_pool(ndim: int) -> Callable[..., Any]:
    return lambda x, sizes: maxima(x, adaptive_spans(x.shape[-ndim:], sizes))


def adaptive_avg_pool(ndim: int) -> Callable[..., Any]:
    return lambda x, sizes: averages(
        x, adaptive_spans(x.shape[-ndim:], sizes), lambda _, inside: inside
    )


def fractional_max_pool(ndim: int) -> Callable[..., Any]:
    def reference(
        x: np.ndarray, kernel: Sequence[int], numbers: Sequence[int], samples: np.ndarray
    ) -> Any:
        images = x if x.ndim == ndim + 2 else x[None]
        values = np.empty((*images.shape[:2], *numbers), x.dtype)
        places = np.empty(values.shape, np.int64)
        for image, channel in np.ndindex(*images.shape[:2]):
            drawn = samples[image, channel]
            drawn = drawn[::-1] if ndim == 2 else drawn
            spans: Spans = []
            for size, k, out, u in zip(x.shape[-ndim:], kernel, numbers, drawn, strict=True):
                step = (size - k) / (out - 1) if out > 1 else 0.0
                starts = [int((i + u) * step) - int(u * step) for i in range(out - 1)] + [size - k]
                spans.append([range(at, at + k) for at in starts])
            values[image, channel], places[image, channel] = maxima(images[image, channel], spans)
        shape = (*x.shape[:-ndim], *numbers)
        return values.reshape(shape), places.reshape(shape)

    return reference


def put(ndim: int) -> Callable[..., Any]:
    """Return the reference of unpooling."""

    def reference(x: Any, places: Any, sizes: Any, *how: Any) -> Any:
        made = np.zeros((*x.shape[:-ndim], math.prod(sizes)), x.dtype)
        lead = x.shape[:-ndim]
        np.put_along_axis(made, places.reshape(*lead, -1), x.reshape(*lead, -1), -1)
        return made.reshape(*lead, *sizes)

    return reference


def added_back(ndim: int) -> Callable[..., Any]:
    """Return the reference of the gradients of maxima, whose places are the last argument."""

    def reference(grad: np.ndarray, x: np.ndarray, *how: Any) -> Any:
        made = np.zeros_like(x)
        lead = x.ndim - ndim
        for index in np.ndindex(*grad.shape):
            place = np.unravel_index(int(how[-1][index]), x.shape[lead:])
            made[(*index[:lead], *place)] += grad[index]
        return made

    return reference


def adjoint(function: Callable[..., object]) -> Callable[..., Any]:
    """Return the reference of the gradient of a linear function, element by element."""

    def reference(grad: np.ndarray, x: np.ndarray, *how: Any) -> Any:
        made = np.zeros_like(x)
        for index in np.ndindex(*x.shape):
            unit = np.zeros_like(x)
            unit[index] = 1
            made[index] = (function(unit, *how) * grad).sum()
        return made

    return reference
