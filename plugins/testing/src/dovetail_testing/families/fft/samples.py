"""Samples of Fourier transforms and windows. The references are NumPy's and SciPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import (
    SampleInput,
    TensorMaker,
    all_types,
    all_types_and_complex,
    complex_types,
    floating_types,
)
from dovetail_kernel import bool as bool_

from ..makers import ALL, FLOATING, Samples, op_info, refusals, refused
from .short_time import SHORT

info = partial(op_info, family="fft")

ANY = all_types_and_complex() | {bool_}
REAL = all_types() | {bool_}
NORMS = (None, "ortho", "forward")


def lines(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield what is transformed along one dimension: whole, cut off, and filled up."""
    yield SampleInput(make(6))
    for norm in NORMS:
        yield SampleInput(make(2, 5), norm=norm)
    yield SampleInput(make(4, 3), 3, 0)
    yield SampleInput(make(2, 4, 3), 7, 1, "ortho")
    yield SampleInput(make(0, 4))


def boxes(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield what is transformed along several dimensions."""
    for norm in NORMS:
        yield SampleInput(make(3, 4), norm=norm)
    yield SampleInput(make(2, 3, 4), (4, 3))
    yield SampleInput(make(2, 3, 4), (2, -1), (0, 2))
    yield SampleInput(make(2, 3, 4), None, (2, 0), "ortho")


def planes(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield what is transformed along two dimensions."""
    for norm in NORMS:
        yield SampleInput(make(3, 4), norm=norm)
    yield SampleInput(make(2, 3, 4), (4, 3))
    yield SampleInput(make(2, 3, 4), None, (2, 0), "ortho")


bad_line = refusals(
    (lambda make: SampleInput(make(3), 0), RuntimeError, r"Invalid number of data points \(0\)"),
    (lambda make: SampleInput(make(3), 3, 5), IndexError, "Dimension out of range"),
    (lambda make: SampleInput(make(())), IndexError, "tensor has no dimensions"),
    (lambda make: SampleInput(make(3), norm="x"), RuntimeError, "Invalid normalization mode"),
)
bad_box = refusals(
    (lambda make: SampleInput(make(3, 3), None, (0, 0)), RuntimeError, "FFT dims must be unique"),
    (lambda make: SampleInput(make(3), (2, 2)), RuntimeError, "Got shape with 2 values"),
    (lambda make: SampleInput(make(3, 3), (2,), (0, 1)), RuntimeError, "must have the same length"),
)
bad_plane = refusals(
    (lambda make: SampleInput(make(3, 3), None, (0, 0)), RuntimeError, "FFT dims must be unique")
)


def along(name: str) -> Callable[..., Any]:
    """Return NumPy's transform along one dimension."""

    def reference(
        x: np.ndarray, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Any:
        return getattr(np.fft, name)(x, n, dim, norm)

    return reference


def along_several(name: str, dims: Sequence[int] | None = None) -> Callable[..., Any]:
    """Return SciPy's transform along several dimensions, in the dtype of double precision."""

    def reference(
        x: Any, s: Sequence[int] | None = None, dim: Any = dims, norm: str | None = None
    ) -> Any:
        fft = import_module("scipy.fft")
        dim = tuple(range(-len(s), 0)) if dim is None and s is not None else dim
        if s is not None:
            own = [x.shape[axis] for axis in dim]
            s = [size if given == -1 else given for given, size in zip(s, own, strict=True)]
            if name in ("irfftn", "hfftn") and s[-1] == own[-1]:
                s[-1] = 2 * (own[-1] - 1)  # given as -1, it is that of the whole
        return getattr(fft, name)(x, s, dim, norm)

    return reference


TRANSFORMS = [
    *[
        info(f"fft_{name}", lines, along(name), dtypes, errors=bad_line)
        for name, dtypes in (
            ("fft", ANY),
            ("ifft", ANY),
            ("rfft", REAL),
            ("irfft", ANY),
            ("hfft", ANY),
            ("ihfft", REAL),
        )
    ],
    *[
        info(f"fft_{name}{end}", samples, along_several(f"{name}n", dims), dtypes, errors=errors)
        for name, dtypes in (
            ("fft", ANY),
            ("ifft", ANY),
            ("rfft", REAL),
            ("irfft", ANY),
            ("hfft", ANY),
            ("ihfft", REAL),
        )
        for end, samples, dims, errors in (
            ("n", boxes, None, bad_box),
            ("2", planes, (-2, -1), bad_plane),
        )
    ],
]

SCALES: dict[bool, tuple[str, str, str]] = {
    True: ("backward", "ortho", "forward"),
    False: ("forward", "ortho", "backward"),
}


def kernels(*last: Any) -> Samples:
    """Return the arguments of a kernel: dimensions, what to divide by, and one more."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for option in last:
            yield SampleInput(make(2, 4), (1,), 0, option)
            yield SampleInput(make(2, 4), (0, 1), 1, option)
            yield SampleInput(make(2, 3, 4), (1, 2), 2, option)

    return samples


def c2c(x: np.ndarray, dim: Sequence[int], scale: int, forward: bool) -> Any:
    fft = import_module("scipy.fft")
    transform = fft.fftn if forward else fft.ifftn
    return transform(x, axes=dim, norm=SCALES[forward][scale])


def r2c(x: np.ndarray, dim: Sequence[int], scale: int, onesided: bool) -> Any:
    fft = import_module("scipy.fft")
    transform = fft.rfftn if onesided else fft.fftn
    return transform(x, axes=dim, norm=SCALES[True][scale])


def halves(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), (1,), 0, 6)
    yield SampleInput(make(2, 4), (0, 1), 1, 7)


def c2r(x: Any, dim: Any, scale: int, size: int) -> Any:
    sizes = [*[x.shape[axis] for axis in dim[:-1]], size]
    irfftn = import_module("scipy.fft").irfftn
    return irfftn(x, sizes, dim, SCALES[False][scale])


KERNELS = [
    info(
        "_fft_c2c",
        kernels(True, False),
        c2c,
        complex_types(),
        errors=refused(
            lambda make: SampleInput(make(3), (0,), 0, True),
            RuntimeError,
            "Only supports complex dtypes, but found: Float",
        ),
    ),
    info("_fft_r2c", kernels(True, False), r2c, floating_types()),
    info("_fft_c2r", halves, c2r, complex_types()),
]


# -- frequencies -----------------------------------------------------------------------------------


def numbered(*rows: tuple[Any, ...]) -> Samples:
    """Return arguments that are not tensors, and the dtype."""
    return lambda make: [SampleInput(*row, dtype=make.dtype, device=make.device) for row in rows]


def without_options(reference: Callable[..., object]) -> Callable[..., Any]:
    return lambda *args, **options: reference(*args)


def shifted(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(5))
    yield SampleInput(make(2, 4))
    yield SampleInput(make(2, 5), (1,))
    yield SampleInput(make(3, 2, 4), (0, 2))


FREQUENCIES = [
    *[
        info(
            f"fft_{name}",
            numbered((1,), (4,), (5, 0.5)),
            without_options(getattr(np.fft, name)),
            FLOATING,
            supports_autograd=False,
        )
        for name in ("fftfreq", "rfftfreq")
    ],
    info("fft_fftshift", shifted, lambda x, dim=None: np.fft.fftshift(x, dim), ALL),
    info("fft_ifftshift", shifted, lambda x, dim=None: np.fft.ifftshift(x, dim), ALL),
]


# -- windows ---------------------------------------------------------------------------------------


def window(*name: Any) -> Callable[..., Any]:
    """Return SciPy's window, of the name and the arguments that it has."""

    def reference(length: int, periodic: bool = True, *values: float, **options: Any) -> Any:
        get_window = import_module("scipy.signal").get_window
        kind = (*name, *values) if len(name) > 1 or values else name[0]
        kind = kind[:2] if isinstance(kind, tuple) and kind[0] == "kaiser" else kind
        return get_window(kind, length, fftbins=periodic) if length else np.ones(0)

    return reference


def hamming(length: int, periodic: bool = True, *values: float, **options: Any) -> Any:
    alpha, beta = (*values, 0.54, 0.46)[:1][0], values[1] if len(values) > 1 else 0.46
    n = length + 1 if periodic else length
    return (alpha - beta * np.cos(2 * np.pi * np.arange(n) / max(n - 1, 1)))[:length]


def kaiser(length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Any:
    n = length + 1 if periodic else length
    return np.kaiser(n, beta)[:length]


LENGTHS = ((0,), (5,), (8,))
PERIODS = ((4, False), (5, True), (8, False))
negative = refused(
    lambda make: SampleInput(-1), RuntimeError, "requires non-negative window_length"
)

WINDOWS = [
    info(
        f"{name}_window{overload}",
        numbered(*rows),
        ref,
        FLOATING,
        errors=errors,
        supports_autograd=False,
    )
    for name, ref, more in (
        ("bartlett", window("bartlett"), {}),
        ("blackman", window("blackman"), {}),
        ("hann", window("hann"), {}),
        (
            "hamming",
            hamming,
            {".periodic_alpha": (5, True, 0.6), ".periodic_alpha_beta": (5, False, 0.6, 0.3)},
        ),
        ("kaiser", kaiser, {".beta": (5, False, 8.0)}),
    )
    for overload, rows, errors in (
        ("", LENGTHS, negative),
        (".periodic", PERIODS, None),
        *((own, (row,), None) for own, row in more.items()),
    )
]


OP_INFOS = [*TRANSFORMS, *KERNELS, *FREQUENCIES, *WINDOWS, *SHORT]
