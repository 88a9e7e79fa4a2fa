"""Convolutions and patches in NumPy, window by window, as they are defined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np


def _each(values: Sequence[int], ndim: int) -> list[int]:
    return [*values] * ndim if len(values) == 1 else [*values]


def _windows(
    counts: Sequence[int], stride: Sequence[int], kernel: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[Any, Any]]:
    """Yield the place of each window in the result, and the elements of a padded image in it."""
    for place in product(*map(range, counts)):
        rows = zip(place, stride, kernel, dilation, strict=True)
        starts: list[Any] = [slice(at * s, at * s + d * (k - 1) + 1, d) for at, s, k, d in rows]
        yield place, (..., *starts)


def convolution(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    transposed: bool = False,
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
) -> Any:
    ndim = weight.ndim - 2
    steps, pads, apart, more = [
        _each(each, ndim) for each in (stride, padding, dilation, output_padding)
    ]
    kernel, sizes = weight.shape[2:], x.shape[2:]
    spans = [d * (k - 1) + 1 for d, k in zip(apart, kernel, strict=True)]
    rows = list(zip(sizes, spans, steps, pads, more, strict=True))
    part, own = x.shape[1] // groups, weight.shape[0] // groups
    if transposed:
        lengths = [(n - 1) * s + span + m for n, span, s, _, m in rows]
        made = np.zeros((x.shape[0], weight.shape[1] * groups, *lengths), np.result_type(x, weight))
        for group in range(groups):
            inner, outer = [slice(group * n, (group + 1) * n) for n in (own, weight.shape[1])]
            for place, window in _windows(sizes, steps, kernel, apart):
                values = np.tensordot(x[(slice(None), inner, *place)], weight[inner], 1)
                made[:, outer][window] += values
        keep: list[Any] = [slice(p, length - p) for length, p in zip(lengths, pads, strict=True)]
        made = made[tuple([..., *keep])]
    else:
        padded = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pads]])
        counts = [(n + 2 * p - span) // s + 1 for n, span, s, p, _ in rows]
        made = np.zeros((x.shape[0], weight.shape[0], *counts), np.result_type(x, weight))
        for group in range(groups):
            inner, outer = [slice(group * n, (group + 1) * n) for n in (part, own)]
            for place, window in _windows(counts, steps, kernel, apart):
                axes = list(range(1, ndim + 2))
                values = np.tensordot(padded[:, inner][window], weight[outer], (axes, axes))
                made[(slice(None), outer, *place)] = values
    return made if bias is None else made + bias.reshape(-1, *[1] * ndim)


def images_of(ndim: int) -> Any:
    """Return the reference of a convolution of images of `ndim` dimensions, in a batch or not."""

    def reference(
        x: np.ndarray, weight: Any, bias: np.ndarray | None = None, stride: Sequence[int] = (1,),
        padding: Any = (0,), dilation: Any = (1,), groups: int = 1
    ) -> Any:  # fmt: skip
        if x.ndim == ndim + 1:
            return reference(x[None], weight, bias, stride, padding, dilation, groups)[0]
        if padding == "same":
            totals = [
                d * (k - 1) for d, k in zip(_each(dilation, ndim), weight.shape[2:], strict=True)
            ]
            x = np.pad(x, [(0, 0), (0, 0), *[(n // 2, n - n // 2) for n in totals]])
        pads = (0,) if isinstance(padding, str) else padding
        return convolution(x, weight, bias, stride, pads, dilation, False, (0,), groups)

    return reference


def transposed_of(ndim: int) -> Any:
    """Return the reference of a transposed convolution of images of `ndim` dimensions."""

    def reference(
        x: Any, weight: Any, bias: Any = None, stride: Any = (1,), padding: Any = (0,),
        output_padding: Any = (0,), groups: int = 1, dilation: Any = (1,)
    ) -> Any:  # fmt: skip
        if x.ndim == ndim + 1:
            given = (bias, stride, padding, output_padding, groups, dilation)
            return reference(x[None], weight, *given)[0]
        return convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)

    return reference


def conv_tbc(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, pad: int = 0) -> Any:
    made = convolution(x.transpose(1, 2, 0), weight.transpose(2, 1, 0), bias, (1,), (pad,))
    return made.transpose(2, 0, 1)


def im2col(
    x: np.ndarray,
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in padding])
    rows = zip(x.shape[-2:], kernel, dilation, padding, stride, strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in rows]
    columns = [
        padded[window].reshape(*x.shape[:-3], x.shape[-3] * kernel[0] * kernel[1])
        for _, window in _windows(counts, stride, kernel, dilation)
    ]
    return np.stack(columns, -1)


def col2im(
    x: np.ndarray,
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    channels = x.shape[-2] // (kernel[0] * kernel[1])
    lengths = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    made = np.zeros((*x.shape[:-2], channels, *lengths), x.dtype)
    rows = zip(lengths, kernel, dilation, stride, strict=True)
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in rows]
    for column, (_, window) in enumerate(_windows(counts, stride, kernel, dilation)):
        made[window] += x[..., column].reshape(*x.shape[:-2], channels, *kernel)
    keep: list[Any] = [slice(p, n - p) for n, p in zip(lengths, padding, strict=True)]
    return made[tuple([..., *keep])]


def pixel_shuffle(x: np.ndarray, r: int) -> Any:
    height, width = x.shape[-2:]
    made = np.empty((*x.shape[:-3], x.shape[-3] // r**2, height * r, width * r), x.dtype)
    for row, column in product(range(r), range(r)):
        made[..., row::r, column::r] = x[..., row * r + column :: r**2, :, :]
    return made


def pixel_unshuffle(x: np.ndarray, r: int) -> Any:
    height, width = x.shape[-2:]
    made = np.empty((*x.shape[:-3], x.shape[-3] * r**2, height // r, width // r), x.dtype)
    for row, column in product(range(r), range(r)):
        made[..., row * r + column :: r**2, :, :] = x[..., row::r, column::r]
    return made


def channel_shuffle(x: np.ndarray, groups: int) -> Any:
    each = x.shape[1] // groups
    order = [group * each + place for place in range(each) for group in range(groups)]
    return x[:, order]
