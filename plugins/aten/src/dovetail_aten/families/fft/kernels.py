"""Fourier transforms: SciPy's pocketfft, which keeps single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel_support.dims import wrap_dims
from ...kernel_support.family import Family, operator
from ...typing import Array

_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")
"""SciPy's names of what a transform is divided by: nothing, the root of the size, the size."""


class Fourier(Family):
    """Fourier transforms between real and complex arrays."""

    @operator("_fft_c2c")
    def fft_c2c(self, x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
        """Return the transform of complex numbers along `dim`, or the inverse."""
        self._check_complex(x)
        axes = wrap_dims(tuple(dim), x.ndim) if len(dim) else ()
        if not axes:
            return self.capabilities.clone(x)
        if forward:
            transform, norms = self.scipy("fft.fftn", "_fft_c2c"), _FORWARD
        else:
            transform, norms = self.scipy("fft.ifftn", "_fft_c2c"), _INVERSE
        return self.ordered(transform(x, axes=axes, norm=_scale(norms, normalization)))

    @operator("_fft_r2c")
    def fft_r2c(self, x: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
        """Return the transform of real numbers along `dim`; if `onesided`, only the nonnegative
        frequencies of the last dimension.
        """
        if x.dtype not in self.precision.real_floats:
            raise RuntimeError(
                "Only supports floating-point dtypes, but found: "
                f"{self.dtypes[x.dtype].scalar_name}. Take the real part."
            )
        if x.dtype in self.precision.halves:
            raise RuntimeError(
                f"Unsupported dtype {self.dtypes[x.dtype].scalar_name}. Convert it to float32."
            )
        transform = self.scipy("fft.rfftn" if onesided else "fft.fftn", "_fft_r2c")
        axes = some_axes(dim, x.ndim)
        return self.ordered(transform(x, axes=axes, norm=_scale(_FORWARD, normalization)))

    @operator("_fft_c2r")
    def fft_c2r(self, x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
        """Return the real numbers with the frequencies `x`, which contains the nonnegative
        frequencies of the last dimension.
        """
        self._check_complex(x)
        axes = some_axes(dim, x.ndim)
        sizes = (*[x.shape[axis] for axis in axes[:-1]], last_dim_size)
        transform = self.scipy("fft.irfftn", "_fft_c2r")
        return self.ordered(transform(x, s=sizes, axes=axes, norm=_scale(_INVERSE, normalization)))

    def _check_complex(self, x: Array) -> None:
        if x.dtype not in self.precision.complex:
            raise RuntimeError(
                f"Only supports complex dtypes, but found: {self.dtypes[x.dtype].scalar_name}. "
                "Convert the tensor first."
            )


def _scale(names: Sequence[str], normalization: int) -> str:
    if not 0 <= normalization < len(names):
        raise RuntimeError(
            f"Unsupported normalization type: {normalization}. It is 0 (by nothing), 1 (by the "
            "root of the size) or 2 (by the size)."
        )
    return names[normalization]


def some_axes(dim: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return the dimensions of a transform that halves the last of them.

    Raises
    ------
    RuntimeError
        If there are no dimensions.
    """
    axes = wrap_dims(tuple(dim), ndim) if len(dim) else ()
    if not axes:
        raise RuntimeError("A transform of real numbers needs a dimension. Name one.")
    return axes
