"""Fourier transforms in terms of those that PyTorch has a kernel for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import wrap_dim
from dovetail_kernel import get_default_dtype

from ....typing import Tensor

UNSCALED, BY_ROOT, BY_SIZE = range(3)
"""What a transform is divided by: nothing, the root of its size, or its size."""


def fft_fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform along `dim`."""
    return _complex(*_line(self, n, dim), _normalization(norm, True), True)


def fft_ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `fft_fft`."""
    return _complex(*_line(self, n, dim), _normalization(norm, False), False)


def fft_rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the half of the transform of real numbers that says all."""
    _check_real(self, "rfft expects a real input tensor, but got ")
    return F._fft_r2c(*_line(self, n, dim), _normalization(norm, True), True)


def fft_ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the half of the inverse transform of real numbers that says all."""
    _check_real(self, "ihfft expects a real input tensor, but got ")
    return F.conj(F._fft_r2c(*_line(self, n, dim), _normalization(norm, False), True))


def fft_irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the real numbers of which `fft_rfft` gives `self`."""
    x, dims, size = _half_line(self, n, dim)
    return F._fft_c2r(x, dims, _normalization(norm, False), size)


def fft_hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the transform, which is real, of numbers of which `self` is one half and the other
    its conjugate.
    """
    x, dims, size = _half_line(self, n, dim)
    return F._fft_c2r(F.conj(x), dims, _normalization(norm, True), size)


def fft_fftn(self: Tensor, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform along several dimensions."""
    return _complex(*_box(self, s, dim), _normalization(norm, True), True)


def fft_ifftn(self: Tensor, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the inverse of `fft_fftn`."""
    return _complex(*_box(self, s, dim), _normalization(norm, False), False)


def fft_rfftn(self: Tensor, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the half of the transform of real numbers along several dimensions that says all."""
    _check_real(self, "rfftn expects a real-valued input tensor, but got ")
    x, dims = _some("rfftn", *_box(self, s, dim))
    return F._fft_r2c(x, dims, _normalization(norm, True), True)


def fft_ihfftn(self: Tensor, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the half of the inverse transform of real numbers along several dimensions that says
    all.
    """
    _check_real(self, "ihfftn expects a real-valued input tensor, but got ")
    x, dims = _some("ihfftn", *_box(self, s, dim))
    scale = _normalization(norm, False)
    half = F.conj(F._fft_r2c(x, dims[-1:], scale, True))
    return F._fft_c2c(half, dims[:-1], scale, False) if dims[1:] else half


def fft_irfftn(self: Any, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the real numbers of which `fft_rfftn` gives `self`."""
    x, dims, size = _half_box("irfftn", self, s, dim)
    return F._fft_c2r(x, dims, _normalization(norm, False), size)


def fft_hfftn(self: Tensor, s: object = None, dim: object = None, norm: str | None = None) -> Any:
    """Return the transform, which is real, along several dimensions, of numbers of which `self` is
    one half.
    """
    x, dims, size = _half_box("hfftn", self, s, dim)
    return F._fft_c2r(F.conj(x), dims, _normalization(norm, True), size)


# Two dimensions are the default of the schemas alone.
fft_fft2 = fft_fftn
fft_ifft2 = fft_ifftn
fft_rfft2 = fft_rfftn
fft_irfft2 = fft_irfftn
fft_hfft2 = fft_hfftn
fft_ihfft2 = fft_ihfftn


def fft_fftshift(self: Tensor, dim: object = None) -> Any:
    """Return `self` with the frequency 0 in the middle of each of `dim`."""
    dims = _dims(self, dim)
    return F.roll(self, [self.shape[each] // 2 for each in dims], dims)


def fft_ifftshift(self: Tensor, dim: Sequence[int] | None = None) -> Any:
    """Return `self` with the frequency 0, which is in the middle, at the beginning."""
    dims = _dims(self, dim)
    return F.roll(self, [(self.shape[each] + 1) // 2 for each in dims], dims)


def fft_fftfreq(n: int, d: float = 1.0, **options: Any) -> Any:
    """Return the frequencies that `fft_fft` of `n` values at distances `d` gives."""
    options = _frequency_options("fftfreq", options)
    positive = F.arange(0, (n + 1) // 2, 1, **options)
    negative = F.arange(-(n // 2), 0, 1, **options)
    return _scaled(F.cat([positive, negative]), n, d)


def fft_rfftfreq(n: int, d: float = 1.0, **options: Any) -> Any:
    """Return the frequencies that `fft_rfft` of `n` values at distances `d` gives."""
    options = _frequency_options("rfftfreq", options)
    return _scaled(F.arange(0, n // 2 + 1, 1, **options), n, d)


# -- operands --------------------------------------------------------------------------------------


def _frequency_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    dtype = options.get("dtype") or get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype. Give one.")
    return {**options, "dtype": dtype}


def _scaled(steps: Tensor, n: int, d: float) -> Any:
    return F.mul(steps, 1.0 / (n * d) if n * d else math.inf)


def _complex(x: Tensor, dims: Sequence[int], normalization: int, forward: bool) -> Any:
    """Return the transform of real or complex numbers."""
    if x.dtype.is_complex or not dims:
        x = x if x.dtype.is_complex else F.to(x, dtype=x.dtype.to_complex())
        return F._fft_c2c(x, dims, normalization, forward)
    # The order in memory of the dimensions is that of complex numbers.
    ordered = sorted(dims, key=lambda dim: -x.stride(dim)) if len(dims) > 1 else dims
    made = F._fft_r2c(x, ordered, normalization, False)
    return made if forward else F.conj(made)


def _normalization(norm: str | None, forward: bool) -> int:
    if norm in (None, "backward"):
        return UNSCALED if forward else BY_SIZE
    if norm == "forward":
        return BY_SIZE if forward else UNSCALED
    if norm == "ortho":
        return BY_ROOT
    raise RuntimeError(
        f'Invalid normalization mode: "{norm}". It is "forward", "backward" or "ortho".'
    )


def _check_real(self: Any, text: str) -> None:
    if self.dtype.is_complex:
        raise RuntimeError(f"{text}{self.dtype.scalar_name}. Take the real part.")


def _floating(self: Any) -> Any:
    """Return `self` in a dtype that is transformed: integers in the default one."""
    if self.dtype.itemsize == 2 and self.dtype.is_floating_point:
        raise RuntimeError(f"Unsupported dtype {self.dtype.scalar_name}. Convert it to float32.")
    if self.dtype.is_floating_point or self.dtype.is_complex:
        return self
    return F.to(self, dtype=get_default_dtype())


def _as_complex(self: Any) -> Any:
    x = _floating(self)
    return x if x.dtype.is_complex else F.to(x, dtype=x.dtype.to_complex())


def _line(self: Any, n: int | None, dim: int) -> tuple[Any, list[int]]:
    """Return what is transformed along one dimension, with `n` elements there; and the
    dimension.
    """
    x = _floating(self)
    dims = [_dim(self, dim)]
    return _resized(x, dims, [x.shape[dims[0]] if n is None else n]), dims


def _half_line(self: Any, n: int | None, dim: int) -> tuple[Any, list[int], int]:
    """Return half of what is transformed along one dimension, the dimension, and the size of the
    whole.
    """
    x = _as_complex(self)
    dims = [_dim(self, dim)]
    size = 2 * (x.shape[dims[0]] - 1) if n is None else n
    _check_size(size)
    return _resized(x, dims, [size // 2 + 1]), dims, size


def _box(self: Any, s: object, dim: object) -> tuple[Any, list[int]]:
    """Return what is transformed along several dimensions, of the sizes `s` there; and the
    dimensions.
    """
    x = _floating(self)
    dims, sizes = _shape(self, s, dim)
    return _resized(x, dims, sizes), dims


def _half_box(name: str, self: Any, s: Any, dim: Any) -> tuple[Any, list[int], int]:
    """Return half of what is transformed along several dimensions, the dimensions, and the size of
    the last of the whole.
    """
    x = _as_complex(self)
    dims, sizes = _shape(self, s, dim)
    _some(name, x, dims)
    given = None if s is None or s[-1] == -1 else s[-1]
    size = 2 * (x.shape[dims[-1]] - 1) if given is None else given
    _check_size(size)
    return _resized(x, dims, [*sizes[:-1], size // 2 + 1]), dims, size


def _shape(self: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions and their sizes, of which one, or both, may be left out."""
    ndim = self.ndim
    dims = None if dim is None else [_dim(self, each) for each in dim]
    if dims is not None and len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique. Name every dimension once.")
    if s is None:
        dims = list(range(ndim)) if dims is None else dims
        return dims, [self.shape[each] for each in dims]
    if dims is not None and len(dims) != len(s):
        raise RuntimeError(
            "When given, dim and shape arguments must have the same length: they have "
            f"{len(dims)} and {len(s)}."
        )
    if len(s) > ndim:
        raise RuntimeError(
            f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions. "
            "Give fewer."
        )
    dims = list(range(ndim - len(s), ndim)) if dims is None else dims
    return dims, [
        self.shape[each] if size == -1 else size for each, size in zip(dims, s, strict=True)
    ]


def _some(name: str, x: Tensor, dims: list[int]) -> tuple[Any, list[int]]:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis. Name one.")
    return x, dims


def _dim(self: Any, dim: int) -> int:
    if not self.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions. Reshape it to one."
        )
    return wrap_dim(dim, self.ndim)


def _dims(self: Any, dim: Any) -> list[int]:
    return list(range(self.ndim)) if dim is None else [wrap_dim(each, self.ndim) for each in dim]


def _check_size(size: int) -> None:
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified. Give one or more.")


def _resized(x: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return `x` cut off, or filled up with zeros, to `sizes` in `dims`."""
    for dim, size in zip(dims, sizes, strict=True):
        _check_size(size)
        own = x.shape[dim]
        if size < own:
            x = F.narrow(x, dim, 0, size)
        elif size > own:
            x = F.constant_pad_nd(x, [0, 0] * (x.ndim - 1 - dim) + [0, size - own])
    return x
