"""Functions of every element in blocks, and bounds by NumPy's clip, which has vector instructions
for numbers that `maximum` and `minimum` have not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dovetail_aten.families.activations.kernels.gated_units import GatedUnits
from dovetail_aten.families.activations.kernels.hard_activations import HardActivations
from dovetail_aten.families.pointwise.kernels.choices import Choices
from dovetail_aten.families.pointwise.kernels.pointwise import Pointwise
from dovetail_aten.kernel_support import KernelTable
from dovetail_aten.kernel_support.capabilities import Capabilities
from dovetail_aten.kernel_support.family import never_warns

from .blocks import blockwise, in_blocks
from .elementary import TUNED
from .erf import write_erf
from .few_elements import ERF, ERFC, few
from .half_precision import MANY
from .quick_functions import clip
from .silence import silent
from .written_activations import OF_HARD_ACTIVATIONS

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_BITS = {each: numpy.dtype(f"i{each.itemsize}") for each in _FLOATS}
_BYTE = numpy.dtype(numpy.int8)
_NUMBERS = (int, float)
_FOR_MANY = 4
"""For how many elements each of a mask has to be, so that choosing by bits pays."""


@blockwise(
    "hardsigmoid_backward",
    "hardshrink",
    "softshrink",
    "shrink_backward",
    writing=OF_HARD_ACTIVATIONS,
)
class FastHardActivations(HardActivations):
    """Activation functions made of lines, in blocks."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)

    def _sixth(self, x: Any) -> Any:
        """Return ``(x + 3) / 6``, limited to 0 and 1."""
        if x.dtype not in _FLOATS or not x.ndim:
            return HardActivations._sixth(self, x)
        like = self.numbers.like
        made = numpy.add(x, like(x, 3))
        clip(made, self._zeros[x.dtype], like(x, 6), made)
        return numpy.divide(made, like(x, 6), out=made)


@blockwise("mish", "mish_backward")
class FastGatedUnits(GatedUnits):
    """mish in blocks."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)


@blockwise("erfc", writing={"erf": (write_erf, 2)})
class FastPointwise(Pointwise):
    """Elementary functions in blocks."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)

    @few(ERF)
    def erf(self, x: Any) -> Any:
        """Return the error function."""
        return Pointwise.erf(self, x)

    @few(ERFC)
    def erfc(self, x: Any) -> Any:
        """Return the complementary error function."""
        return Pointwise.erfc(self, x)

    def sign(self, x: Any) -> Any:
        """Return -1, 0 or 1, of floats by the difference of two masks, as bytes; 0 for NaN."""
        if x.dtype not in self.precision.real_floats or not x.ndim:
            return Pointwise.sign(self, x)
        xp, zero = self.xp, self.numbers.like(x, 0)
        above, below = xp.greater(x, zero).view(_BYTE), xp.less(x, zero).view(_BYTE)
        signs = numpy.subtract(above, below, out=above)
        if x.dtype in self.precision.halves:
            return self.precision.narrow(signs.astype(self.precision.single), x.dtype)
        return signs.astype(x.dtype)


_clamp, _clamp_min = silent(Choices.clamp), silent(Choices.clamp_min)
_clamp_max = silent(Choices.clamp_max)
_in_blocks = silent(in_blocks)


class FastChoices(Choices):
    """Bounds by clip."""

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels, and what limits an array in place."""
        super().define_in(kernel)
        kernel("clamp", self.clamp, general_out_function=self.clamp_into)

    def _bounds(self, x: Any, least: Any, greatest: Any) -> tuple[Any, Any] | None:
        """Return two numbers as bounds of an array of floats; None for what is none."""
        if not x.ndim or (x.dtype not in _FLOATS and not self._is_large_half(x)):
            return None
        least = -math.inf if least is None else least
        greatest = math.inf if greatest is None else greatest
        if least.__class__ not in _NUMBERS or greatest.__class__ not in _NUMBERS:
            return None
        fitting = self.numbers.fitting
        return fitting(x, least), fitting(x, greatest)

    def _is_large_half(self, x: Any) -> bool:
        return x.size >= MANY and x.dtype in self.precision.halves

    def _clipped(self, x: Any, least: Any, greatest: Any) -> Any | None:
        """Return an array of floats limited to two numbers; None for what is none."""
        bounds = self._bounds(x, least, greatest)
        return None if bounds is None else self._clipped_to(x, bounds)

    def _clipped_to(self, x: Any, bounds: tuple[Any, Any]) -> Any:
        """Return an array of floats, of half precision by blocks, limited to two numbers."""
        if x.dtype in _FLOATS:
            return clip(x, *bounds)
        limits = [self.precision.wide(each) for each in bounds]
        return _in_blocks(self._clipped_in_single, x, *limits)

    def _clipped_in_single(self, x: Any, least: Any, greatest: Any) -> Any:
        """Return half-precision numbers limited to two."""
        return self.precision.narrow(clip(self.precision.wide(x), least, greatest), x.dtype)

    def clamp_into(self, x: Any, min: Any = None, max: Any = None, *, out: Any) -> Any:
        """Write `clamp` into `out`, of an array of floats itself without a copy."""
        bounds = self._bounds(x, min, max) if x is out and (min, max) != (None, None) else None
        if bounds is not None and x.dtype in _FLOATS:
            return clip(x, *bounds, out)
        made = self.clamp(x, min, max)
        if made.shape != out.shape:
            raise ValueError(f"cannot broadcast {made.shape} into {out.shape}")
        numpy.copyto(out, made)
        return out

    def _filled(self, x: Any, mask: Any, value: Any) -> Any:
        """Return `x` with `value` where `mask` is true; of a mask that is one for many elements by
        their bits, which takes a third of the time of ``where``.
        """
        bits = _BITS.get(x.dtype)
        if (
            bits is None
            or mask.dtype != self._boolean
            or not mask.ndim
            or mask.size * _FOR_MANY > x.size
            or value.ndim
            or x.shape[: x.ndim - mask.ndim] + mask.shape != x.shape
            or not x.flags.c_contiguous
        ):
            return Choices._filled(self, x, mask, value)
        kept = numpy.subtract(mask, 1, dtype=bits, casting="unsafe")
        made = numpy.bitwise_and(x.view(bits), kept)
        numpy.bitwise_and(numpy.invert(kept, out=kept), value.view(bits), out=kept)
        return numpy.bitwise_or(made, kept, out=made).view(x.dtype)

    @never_warns
    def clamp(self, x: Any, min: Any = None, max: Any = None) -> Any:
        """Return `x` limited to ``[min, max]``; a bound that is None is none."""
        if min is not None or max is not None:
            bounds = self._bounds(x, min, max)
            if bounds is not None:
                return clip(x, *bounds) if x.dtype in _FLOATS else self._clipped_to(x, bounds)
        return _clamp(self, x, min, max)

    @never_warns
    def clamp_min(self, x: Any, min: Any) -> Any:
        """Return the greater of `x` and `min`."""
        made = self._clipped(x, min, None)
        return _clamp_min(self, x, min) if made is None else made

    @never_warns
    def clamp_max(self, x: Any, max: Any) -> Any:
        """Return the lesser of `x` and `max`."""
        made = self._clipped(x, None, max)
        return _clamp_max(self, x, max) if made is None else made
