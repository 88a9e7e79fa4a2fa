"""Divisions with remainders of floating-point numbers, shifts, and logical functions of complex
numbers: what CuPy computes otherwise than NumPy, or not at all.
"""

from __future__ import annotations

from typing import Any

import cupy

from dovetail_aten.families import Arithmetic, NumberParts
from dovetail_aten.typing import Array, Namespace

from ..kernel_support.device_code import pointwise

_REMAINDER = """
const W a = WIDE(x), b = WIDE(y);
W rest = fmod(a, b);
if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
"""
# As Python divides: the rest is taken off first, so that the quotient is whole but for rounding.
_FLOOR_DIVIDE = """
const W a = WIDE(x), b = WIDE(y);
if (b == 0) {
  z = (T)(a / b);
} else {
  W rest = fmod(a, b);
  W quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  W whole = floor(quotient);
  if (quotient - whole > (W)0.5) whole += 1;
  z = (T)(quotient == 0 ? copysign((W)0, a / b) : whole);
}
"""
# What is shifted out is gone, also beyond what a register holds.
_BITS = "const int bits = sizeof(T) * 8; const bool inside = y >= 0 && y < (T)bits;"
_LEFT = f"{_BITS} z = inside ? (T)(x << y) : (T)0;"
_RIGHT = f"{_BITS} z = inside ? (T)(x >> y) : (x < 0 ? (T)-1 : (T)0);"


def _of_two(name: str, code: str) -> Any:
    return pointwise(name, "T x, T y", "T z", code)


class FusedArithmetic(Arithmetic):
    """Divisions with remainders."""

    def _divide_mode(self, x: Array, other: Array, rounding_mode: str | None) -> Any:
        if rounding_mode == "floor" and self._are_floats(x, other):
            return _of_two("floor_divide", _FLOOR_DIVIDE)(x, other)
        return Arithmetic._divide_mode(self, x, other, rounding_mode)

    def remainder(self, x: Array, other: Array) -> Any:
        """Return the remainder of the division rounded down: it has the sign of the divisor."""
        x, other = self.numbers.pair(x, other)
        if self._are_floats(x, other):
            return _of_two("remainder", f"{_REMAINDER} z = (T)rest;")(x, other)
        return Arithmetic.remainder(self, x, other)

    def _are_floats(self, x: Array, other: Array) -> bool:
        return x.dtype == other.dtype and x.dtype in self.precision.real_floats


class FusedNumberParts(NumberParts):
    """Shifts."""

    def define_in(self, kernel: Any) -> None:
        """Define the kernels; shifts of two arrays are functions of the namespace elsewhere."""
        super().define_in(kernel)
        kernel("bitwise_left_shift.Tensor", self.left_shift)
        kernel("bitwise_right_shift.Tensor", self.right_shift)

    def left_shift(self, x: Array, other: Array) -> Any:
        """Return ``x << other``."""
        return self._shifted("left_shift", _LEFT, x, other)

    def right_shift(self, x: Array, other: Array) -> Any:
        """Return ``x >> other``."""
        return self._shifted("right_shift", _RIGHT, x, other)

    def _shifted(self, name: str, code: str, x: Array, other: Array) -> Any:
        x, other = self.numbers.either(x, other)
        if x.dtype.kind not in "iu" or x.dtype != other.dtype:
            return getattr(self.xp, name)(x, other)
        return _of_two(name, code)(x, other)


def define_logical(xp: Namespace, kernel: Any, capabilities: object) -> None:
    """Define the logical functions, for complex numbers too."""

    def define(name: str, function: Any) -> None:
        def compute(*arrays: Any) -> Any:
            whole = [each != 0 if each.dtype.kind == "c" else each for each in arrays]
            return function(*whole)

        kernel(name, compute)

    for name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
        define(name, getattr(cupy, name))
