"""Samples of the Fourier transforms of short pieces. The references are of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import (
    SampleInput,
    Skip,
    TensorMaker,
    complex_types,
    floating_and_complex_types,
)
from dovetail_kernel import complex64, float32, float64

from ..makers import op_info, refusals, refused

info = partial(op_info, family="fft")


def signals(make: TensorMaker) -> Iterator[SampleInput]:
    window = make(6, low=0.5, high=2).detach()
    is_complex = make.dtype.is_complex
    for shape in ((18,), (2, 17)):
        yield SampleInput(make(shape), 6, return_complex=True)
        yield SampleInput(make(shape), 6, 3, 6, window, False, return_complex=True)
        yield SampleInput(make(shape), 8, 2, 6, window, normalized=True, return_complex=True)
    yield SampleInput(make(12), 6, return_complex=False, onesided=False)
    if not is_complex:
        yield SampleInput(make(12), 6, onesided=True, return_complex=True, pad_mode="constant")


def uncentered(make: TensorMaker) -> Iterator[SampleInput]:
    window = make(6, low=0.5, high=2).detach()
    for shape in ((18,), (2, 17)):
        yield SampleInput(make(shape), 6, return_complex=True)
        yield SampleInput(make(shape), 8, 2, 6, window, return_complex=True)
        yield SampleInput(make(shape), 8, 2, 6, window, return_complex=True, align_to_window=True)


def stft(
    x: np.ndarray,
    n_fft: int,
    hop: int | None = None,
    length: int | None = None,
    window: np.ndarray | None = None,
    center: bool = True,
    *,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool = True,
    align_to_window: bool | None = None,
) -> Any:
    hop, length = hop or n_fft // 4, length or n_fft
    before = (n_fft - length) // 2
    full = np.zeros(n_fft, np.result_type(window if window is not None else 0.0))
    full[before : before + length] = 1 if window is None else window
    widths = [(0, 0)] * (x.ndim - 1)
    if center:
        x = np.pad(x, [*widths, (n_fft // 2, n_fft // 2)], pad_mode)  # type: ignore[call-overload]
    elif align_to_window:
        x = np.pad(x, [*widths, (before, n_fft - length - before)])
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    pieces = np.stack([x[..., start : start + n_fft] * full for start in starts], -1)
    onesided = not np.iscomplexobj(pieces) if onesided is None else onesided
    transform = np.fft.rfft if onesided else np.fft.fft
    made = transform(pieces, axis=-2, norm="ortho" if normalized else None)
    return made if return_complex else np.stack([made.real, made.imag], -1)


def spectra(make: TensorMaker) -> Iterator[SampleInput]:
    real = float32 if make.dtype is complex64 else float64
    window = make(8, low=0.5, high=2, dtype=real).detach()
    for shape in ((5, 4), (2, 5, 4)):
        yield SampleInput(make(shape), 8)
        for sample in (
            SampleInput(make(shape), 8, 2, 8, window),
            SampleInput(make(shape), 8, 3, 8, window, normalized=True, length=12),
        ):
            yield sample.with_metadata(name="window")
    sample = SampleInput(make(8, 4), 8, 2, 8, window, onesided=False, return_complex=True)
    yield sample.with_metadata(name="window")


def istft(
    x: np.ndarray,
    n_fft: int,
    hop: int | None = None,
    win_length: int | None = None,
    window: np.ndarray | None = None,
    *,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    hop = hop or n_fft // 4
    window = np.ones(n_fft) if window is None else window
    inverse = np.fft.ifft if return_complex else partial(np.fft.irfft, n=n_fft)
    pieces = inverse(x, axis=-2, norm="ortho" if normalized else None)
    count, whole = x.shape[-1], n_fft + hop * (x.shape[-1] - 1)
    signal, sums = np.zeros((*x.shape[:-2], whole), pieces.dtype), np.zeros(whole)
    for piece in range(count):
        place = slice(piece * hop, piece * hop + n_fft)
        signal[..., place] += pieces[..., piece] * window
        sums[place] += window**2
    start = n_fft // 2
    end = whole - start if length is None else start + length
    return (signal / sums)[..., start:end]


SHORT = [
    info(
        "stft.center",
        signals,
        stft,
        floating_and_complex_types(),
        errors=refusals(
            (
                lambda make: SampleInput(make(12), 6),
                RuntimeError,
                "stft requires the return_complex parameter be given for real inputs",
            ),
            (
                lambda make: SampleInput(make(12), 40, center=False, return_complex=True),
                RuntimeError,
                "expected 0 < n_fft <= 12, but got n_fft=40",
            ),
        ),
    ),
    info("stft", uncentered, partial(stft, center=False), floating_and_complex_types()),
    info(
        "istft",
        spectra,
        istft,
        complex_types(),
        errors=refused(
            lambda make: SampleInput(make(5, 4), 8),
            RuntimeError,
            "istft requires a complex-valued input tensor",
        ),
        skips=(Skip("vmap", "it looks at the sum of the windows", sample="window"),),
    ),
]
