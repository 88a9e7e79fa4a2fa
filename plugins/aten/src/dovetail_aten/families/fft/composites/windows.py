"""Windows of signals that PyTorch has as operators."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import get_default_dtype

from ....typing import Tensor


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """Return a triangle: ``1 - abs(2 k / (n - 1) - 1)``."""
    return _window("bartlett_window", _triangle, window_length, periodic, options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """Return ``0.42 - 0.5 cos(2 pi k / (n - 1)) + 0.08 cos(4 pi k / (n - 1))``."""

    def blackman(k: Tensor, n: int) -> Any:
        first = F.mul(F.cos(F.mul(k, 2 * math.pi / (n - 1))), -0.5)
        return F.add(F.add(first, F.mul(F.cos(F.mul(k, 4 * math.pi / (n - 1))), 0.08)), 0.42)

    return _window("blackman_window", blackman, window_length, periodic, options)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """Return ``0.5 - 0.5 cos(2 pi k / (n - 1))``."""
    return _window("hann_window", _cosine(0.5, 0.5), window_length, periodic, options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Any:
    """Return ``alpha - beta cos(2 pi k / (n - 1))``."""
    return _window("hamming_window", _cosine(alpha, beta), window_length, periodic, options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Any:
    """Return ``i0(beta sqrt(1 - (2 k / (n - 1) - 1) ** 2)) / i0(beta)``."""

    def kaiser(k: Any, n: int) -> Any:
        place = F.sub(F.mul(k, 2 / (n - 1)), 1)
        root = F.sqrt(F.clamp_min(F.rsub(F.mul(place, place), 1), 0))
        top = F.new_full(k, (), float(beta))
        return F.div(F.i0(F.mul(root, float(beta))), F.i0(top))

    return _window("kaiser_window", kaiser, window_length, periodic, options)


def _cosine(alpha: float, beta: float) -> Any:
    def cosine(k: Tensor, n: int) -> Any:
        return F.add(F.mul(F.cos(F.mul(k, 2 * math.pi / (n - 1))), -beta), alpha)

    return cosine


def _triangle(k: Tensor, n: int) -> Any:
    return F.rsub(F.abs(F.sub(F.mul(k, 2 / (n - 1)), 1)), 1)


def _window(name: str, formula: Any, length: int, periodic: bool, options: dict[str, Any]) -> Any:
    """Return the window whose values are ``formula(k, n)`` for k below n; a periodic one is a
    longer one without its last value.
    """
    dtype = options.get("dtype") or get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.name}). Give "
            "one."
        )
    if dtype.is_complex and length > 1:
        raise RuntimeError(f"{name} does not support complex dtypes. Give a real one.")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}."
        )
    options = {**options, "dtype": dtype}
    if length < 2:
        return F.ones((length,), **options)
    whole = length + 1 if periodic else length
    window = formula(F.arange(0, whole, 1, **options), whole)
    return F.narrow(window, 0, 0, length) if periodic else window
