"""The extension ``fft``: discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_aten import fft as of_aten
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from .data_types import check_kinds

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def _one(name: str, kinds: tuple[str, ...]) -> Any:
    operator = getattr(of_aten, name)

    def transform(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        check_kinds(name, kinds, x)
        return operator(x, n, axis, norm)  # type: ignore[no-any-return]

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Return ``{name}`` along an axis, as `dovetail.fft`."
    return transform


def _several(name: str, kinds: tuple[str, ...]) -> Any:
    operator = getattr(of_aten, name)

    def transform(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor:
        check_kinds(name, kinds, x)
        return operator(x, s, axes, norm)  # type: ignore[no-any-return]

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Return ``{name}`` along axes, as `dovetail.fft`."
    return transform


COMPLEX = ("real floating", "complex floating")
REAL = ("real floating",)

fft, ifft = _one("fft", COMPLEX), _one("ifft", COMPLEX)
fftn, ifftn = _several("fftn", COMPLEX), _several("ifftn", COMPLEX)
rfft, irfft = _one("rfft", REAL), _one("irfft", COMPLEX)
rfftn, irfftn = _several("rfftn", REAL), _several("irfftn", COMPLEX)
hfft, ihfft = _one("hfft", COMPLEX), _one("ihfft", REAL)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return the frequencies that `fft` computes."""
    return of_aten.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return the frequencies that `rfft` computes."""
    return of_aten.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Return `x` with the zero frequency moved to the middle."""
    check_kinds("fftshift", COMPLEX, x)
    return of_aten.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Return `x` with the effect of `fftshift` undone."""
    check_kinds("ifftshift", COMPLEX, x)
    return of_aten.ifftshift(x, axes)
