"""Fourier transforms: SciPy's pocketfft, which keeps single precision. Its functions are called
directly where they are found: SciPy's own take 8 µs to choose among libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel_support.dims import wrap_dims
from ...kernel_support.family import Family, lays_out, operator
from ...kernel_support.geometry.memory_layout import inverse
from ...kernel_support.result_orders import fourier_order
from ...typing import Array

_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")
"""SciPy's names of what a transform is divided by: nothing, the root of the size, the size."""


class Fourier(Family):
    """Fourier transforms between real and complex arrays."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._found: dict[str, Any] = {}
        self._mirrored = self.capabilities.compiled("fft.mirrored", self._with_negative)

    @operator("_fft_c2c")
    @lays_out
    def fft_c2c(self, x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
        """Return the transform of complex numbers along `dim`, or the inverse."""
        self._check_complex(x)
        axes = tuple(wrap_dims(tuple(dim), x.ndim)) if len(dim) else ()
        if not axes:
            return self.in_order(self.capabilities.clone(x), x)
        norm = _scale(_FORWARD if forward else _INVERSE, normalization)
        turned, back = self._in_order(x, axes, False)
        if (direct := self._direct("c2c", turned)) is not None:
            places = list(range(x.ndim - len(axes), x.ndim))
            return direct(turned, places, forward, normalization).transpose(back)
        name = "fft" if forward else "ifft"
        return self._transformed(name, "_fft_c2c", turned, len(axes), norm).transpose(back)

    @operator("_fft_r2c")
    @lays_out
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
        axes, norm = some_axes(dim, x.ndim), _scale(_FORWARD, normalization)
        turned, back = self._in_order(x, axes, True)
        is_half, places = onesided or len(axes) == 1, list(range(x.ndim - len(axes), x.ndim))
        if (direct := self._direct("r2c" if is_half else "c2c", turned)) is not None:
            made = direct(turned, places, True, normalization)
        else:
            name = "rfft" if is_half else "fft"
            made = self._transformed(name, "_fft_r2c", turned, len(axes), norm)
        if not onesided and len(axes) == 1:
            made = self._mirrored(made, x.ndim - 1, x.shape[axes[0]])
        return made.transpose(back)

    @operator("_fft_c2r")
    @lays_out
    def fft_c2r(self, x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
        """Return the real numbers with the frequencies `x`, which contains the nonnegative
        frequencies of the last dimension.
        """
        self._check_complex(x)
        axes = some_axes(dim, x.ndim)
        turned, back = self._in_order(x, axes, True)
        places = tuple(range(x.ndim - len(axes), x.ndim))
        is_whole = turned.shape[-1] == last_dim_size // 2 + 1
        if is_whole and (direct := self._direct("c2r", turned)) is not None:
            return direct(turned, [*places], last_dim_size, False, normalization).transpose(back)
        sizes = (*[turned.shape[place] for place in places[:-1]], last_dim_size)
        transform, norm = self.scipy("fft.irfftn", "_fft_c2r"), _scale(_INVERSE, normalization)
        return transform(turned, s=sizes, axes=places, norm=norm).transpose(back)

    def _in_order(self, x: Any, axes: tuple[int, ...], is_half: bool) -> tuple[Any, Sequence[int]]:
        """Return `x` with its dimensions as they lie in the memory of the result, transformed ones
        last, and the order that turns the result back.
        """
        if x.ndim == 1:
            return x, (0,)
        order = fourier_order(self.capabilities.strides(x), axes, is_half)
        return x.transpose(order), inverse(order)

    def _direct(self, name: str, x: Any) -> Any | None:
        """Return a function of pocketfft for an array with elements; None if there is none."""
        if name not in self._found:
            try:
                found = self.capabilities.scipy(f"fft._pocketfft.pypocketfft.{name}")
            except ImportError:
                found = None
            self._found[name] = found
        found = self._found[name]
        return found if found is not None and x.size and x.flags.aligned else None

    def _transformed(self, name: str, operator: str, x: Array, count: int, norm: str) -> Any:
        """Return a transform along the last axes, by the function for one axis, which is called in
        less time, or by that for several.
        """
        if count == 1:
            return self.scipy(f"fft.{name}", operator)(x, axis=x.ndim - 1, norm=norm)
        axes = tuple(range(x.ndim - count, x.ndim))
        return self.scipy(f"fft.{name}n", operator)(x, axes=axes, norm=norm)

    def _with_negative(self, half: Any, axis: int, size: int) -> Any:
        """Return all `size` frequencies of real numbers along `axis`, of the nonnegative ones: the
        others are their conjugates.
        """
        xp = self.xp
        inner = half[(*[slice(None)] * axis, slice(1, (size + 1) // 2))]
        return xp.concatenate((half, xp.flip(xp.conjugate(inner), axis=axis)), axis=axis)

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
    """Return the dimensions of a transform that halves the last of them. Raises RuntimeError if
    there are no dimensions.
    """
    axes = wrap_dims(tuple(dim), ndim) if len(dim) else ()
    if not axes:
        raise RuntimeError("A transform of real numbers needs a dimension. Name one.")
    return axes
