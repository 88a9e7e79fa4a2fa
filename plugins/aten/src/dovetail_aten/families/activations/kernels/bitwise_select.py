"""Choice by a mask, as activation functions need it: by the bits of numbers where they are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import int8, int16, int32, int64
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import Family
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace

_FEW = 4096
"""Elements up to which a choice by a mask is fastest as ``where``, which stumbles over masks it
cannot predict.
"""


class PerDtype(dict[Any, Any]):
    """What `make` returns for a native dtype, made once: constants, found by one look-up."""

    def __init__(self, make: Callable[..., object]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, native_dtype: NativeDtype) -> Any:
        made = self[native_dtype] = self._make(native_dtype)
        return made


class Choosing(Family):
    """Choice by a mask, and 0 and 1 of every dtype.

    Many elements are chosen by the bits of the numbers, so that inf and NaN on the other side of
    the mask vanish.
    """

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        native, of_dtype = self.native_dtypes, self.numbers.of_dtype
        self._integers = {
            each.itemsize: native[each] for each in (int8, int16, int32, int64) if each in native
        }
        self._zeros = PerDtype(lambda own: of_dtype(0, own))
        self._ones = PerDtype(lambda own: of_dtype(1, own))

    def _logistic(self, numerator: Array, x: Array) -> Any:
        """Return ``numerator / (1 + exp(-x))``, which overflow of the power takes to the right
        limits.
        """
        xp = self.xp
        return xp.true_divide(numerator, xp.add(xp.exp(xp.negative(x)), self._ones[x.dtype]))

    def _choose(self, mask: Array, a: Any, b: Any) -> Any:
        """Return `a` where the mask is true, else `b`, which is ``where``."""
        xp = self.xp
        own = a.dtype
        if mask.size <= _FEW or own != b.dtype or own.itemsize not in self._integers:
            return xp.where(mask, a, b)
        bits = self._integers[own.itemsize]
        other = b.view(bits)
        return xp.bitwise_xor(xp.bitwise_xor(a.view(bits), other) * mask, other).view(own)

    def _keep(self, mask: Array, a: Any) -> Any:
        """Return `a` where the mask is true, else 0."""
        own = a.dtype
        if mask.size <= _FEW // 4 or own.itemsize not in self._integers:
            return self.xp.where(mask, a, self._zeros[own])
        return (a.view(self._integers[own.itemsize]) * mask).view(own)
