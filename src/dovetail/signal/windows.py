"""Windows of signals, as ``torch.signal.windows``, with SciPy's formulas.

Every function takes the number of values `M`, and by keyword:

sym
    Whether the window is symmetric, for filters. False gives a periodic window for spectra: a
    symmetric one of ``M + 1`` values without the last. Default: True.
dtype
    float32 or float64. Default: the default dtype.
layout
    Only `strided`.
device
    Default: the default device.
requires_grad
    Whether the result requires grad. Default: False.

It returns a tensor of shape ``(M,)``, whose greatest value is 1. In the formulas n is `M`, or ``M +
1`` if the window is periodic, and k counts from 0.

All raise ValueError for a negative `M`, for another dtype or layout, and for parameters out of
range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, Unpack

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import shown_plainly
from dovetail_kernel import float32, float64, get_default_dtype, strided

from ..names.missing import serve_names as _serve_names

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Options(TypedDict, total=False):
    """What all windows take by keyword."""

    sym: bool
    dtype: Any
    layout: Any
    device: Any
    requires_grad: bool


def bartlett(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return a triangle that ends in zeros, ``1 - abs(2 k / (n - 1) - 1)``."""
    return _window("bartlett", M, lambda k, n: 1 - (k * (2 / (n - 1)) - 1).abs(), options)


def blackman(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return ``0.42 - 0.5 cos(2 pi k / (n - 1)) + 0.08 cos(4 pi k / (n - 1))``."""
    return _cosines("blackman", M, (0.42, 0.5, 0.08), options)


def cosine(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return ``sin(pi (k + 0.5) / n)``."""
    return _window("cosine", M, lambda k, n: ((k + 0.5) * (math.pi / n)).sin(), options)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, **options: Unpack[_Options]
) -> Tensor:
    """Return ``exp(-abs(k - center) / tau)``.

    Parameters
    ----------
    M
        The number of values.
    center
        Default: the middle, ``(n - 1) / 2``; other values are only allowed for periodic windows.
    tau
        Time constant of the decay; positive.
    **options
        As for all windows.

    Raises
    ------
    ValueError
        For a `tau` that is not positive, and for the center of a symmetric window.
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if center is not None and options.get("sym", True):
        raise ValueError("Center must be None for symmetric windows. Give sym=False.")

    def decay(k: Tensor, n: int) -> Tensor:
        middle = (n - 1) / 2 if center is None else center
        return ((k - middle).abs() * (-1 / tau)).exp()

    return _window("exponential", M, decay, options)


def gaussian(M: int, *, std: float = 1.0, **options: Unpack[_Options]) -> Tensor:
    """Return ``exp(-((k - (n - 1) / 2) / std) ** 2 / 2)``; `std` is positive."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def bell(k: Tensor, n: int) -> Tensor:
        return (((k - (n - 1) / 2) * (1 / (std * math.sqrt(2)))).square() * -1).exp()

    return _window("gaussian", M, bell, options)


def kaiser(M: int, *, beta: float = 12.0, **options: Unpack[_Options]) -> Tensor:
    """Return ``i0(beta sqrt(1 - (2 k / (n - 1) - 1) ** 2)) / i0(beta)``; `beta` is not negative."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def bessel(k: Tensor, n: int) -> Tensor:
        root = (1 - (k * (2 / (n - 1)) - 1).square()).clamp(min=0).sqrt()
        return aten.div(aten.i0(root * beta), aten.i0(k.new_full((), beta)))

    return _window("kaiser", M, bessel, options)


def hamming(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return ``0.54 - 0.46 cos(2 pi k / (n - 1))``."""
    return general_hamming(M, **options)


def hann(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return ``0.5 - 0.5 cos(2 pi k / (n - 1))``."""
    return general_hamming(M, alpha=0.5, **options)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Unpack[_Options]) -> Tensor:
    """Return ``alpha - (1 - alpha) cos(2 pi k / (n - 1))``."""
    return general_cosine(M, a=[alpha, 1 - alpha], **options)


def nuttall(M: int, **options: Unpack[_Options]) -> Tensor:
    """Return the four-term cosine window with minimal side lobes (Nuttall 1981)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)


def general_cosine(M: int, *, a: Iterable[float], **options: Unpack[_Options]) -> Tensor:
    """Return the sum of ``(-1) ** i a[i] cos(2 pi i k / (n - 1))``.

    Raises
    ------
    TypeError
        If `a` is not a list of numbers.
    ValueError
        If `a` is empty.
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = tuple(a)
    _check("general_cosine", M, options)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, weights, options)


def _cosines(name: str, length: int, weights: tuple[float, ...], options: _Options) -> Tensor:
    def cosines(k: Tensor, n: int) -> Tensor:
        angle = k * (2 * math.pi / (n - 1))
        parts = [
            (angle * order).cos() * (weight if order % 2 == 0 else -weight)
            for order, weight in enumerate(weights)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        return whole

    return _window(name, length, cosines, options)


def _window(
    name: str, length: int, formula: Callable[[Tensor, int], Tensor], options: _Options
) -> Tensor:
    """Return the values of a formula of k and n; a window of one value is 1."""
    dtype = _check(name, length, options)
    device = options.get("device")
    if length < 2:
        made = aten.ones(length, dtype=dtype, device=device)
    else:
        n = length if options.get("sym", True) else length + 1
        made = formula(aten.arange(n, dtype=dtype, device=device), n)[:length]
    made = made.clone()  # a window without the last value is no view
    made.requires_grad = options.get("requires_grad", False)
    return made


def _check(name: str, length: int, options: _Options) -> Any:
    """Return the dtype of a window."""
    unknown = sorted(set(options) - set(_Options.__annotations__))
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}'")
    if length < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={length}")
    layout = options.get("layout", strided)
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = options.get("dtype") or get_default_dtype()
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


for _name in __all__:
    shown_plainly(sym=True, dtype=None, layout=strided, device=None, requires_grad=False)(
        globals()[_name]
    )

_serve_names(__name__)
