"""Elementary functions of every element, where a namespace names them otherwise, or has none."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail_kernel.types import COMPLEX

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import Family, helper, operator, widened
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace

_NAN = complex(math.nan, math.nan)


class Pointwise(Family):
    """Elementary functions of every element."""

    functions_with_out: ClassVar = {
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "atan2": "arctan2",
        # Of a family, as what may be compiled is.
        "cos": "cos",
        "expm1": "expm1",
        "hypot": "hypot",
        "log1p": "log1p",
        "logaddexp2": "logaddexp2",
        "nextafter": "nextafter",
        "reciprocal": "reciprocal",
        "sin": "sin",
        "sqrt": "sqrt",
    }
    functions: ClassVar = {"abs": "absolute"}

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self._complex = self.precision.complex

    @operator("erf")
    def erf(self, x: Array) -> Any:
        """Return the error function of `x`, which the backend supplies."""
        return self.capabilities.erf(x)

    @operator("erfc")
    def erfc(self, x: Array) -> Any:
        """Return ``1 - erf(x)``, which the backend supplies."""
        return self.capabilities.erfc(x)

    @operator("rsqrt")
    def rsqrt(self, x: Array) -> Any:
        """Return ``1 / sqrt(x)``."""
        xp = self.xp
        return xp.reciprocal(xp.sqrt(x))

    @operator("sign")
    def sign(self, x: Array) -> Any:
        """Return -1, 0 or 1; 0 for NaN."""
        xp = self.xp
        if x.dtype == xp.bool_:
            return self.capabilities.clone(x)
        if x.dtype in self.precision.integral:
            return xp.sign(x)
        return xp.subtract((x > 0).astype(x.dtype), (x < 0).astype(x.dtype))

    @operator("sgn")
    def sgn(self, x: Array) -> Any:
        """Return ``x / abs(x)``, and 0 for 0."""
        xp = self.xp
        if x.dtype not in self._complex:
            return self.sign(x)
        size = xp.absolute(x)
        return xp.where(
            size == 0,
            self.numbers.like(x, 0),
            x / xp.where(size == 0, self.numbers.like(size, 1), size),
        )

    @operator("round")
    def round(self, x: Array) -> Any:
        """Return the nearest integers; ties go to the even integer."""
        return self.capabilities.clone(x) if x.dtype in self.precision.integral else self.xp.rint(x)

    @operator("frac")
    def frac(self, x: Array) -> Any:
        """Return ``x - trunc(x)``."""
        xp = self.xp
        return xp.subtract(x, xp.trunc(x))

    @operator("nan_to_num")
    def nan_to_num(
        self,
        x: Array,
        nan: float | None = None,
        posinf: float | None = None,
        neginf: float | None = None,
    ) -> Any:
        """Return `x` with numbers in place of NaN and infinities: by default 0 and the least and
        greatest of the dtype.
        """
        xp = self.xp
        if x.dtype in self.precision.integral:
            return self.capabilities.clone(x)
        least, greatest = self.capabilities.finfo(x.real.dtype)

        like = self.numbers.like
        above = greatest if posinf is None else posinf
        below = least if neginf is None else neginf

        def replaced(part: Any) -> Any:
            part = xp.where(xp.isnan(part), like(part, nan or 0.0), part)
            part = xp.where(part == math.inf, like(part, above), part)
            return xp.where(part == -math.inf, like(part, below), part)

        if x.dtype in self._complex:
            both = replaced(x.real) + like(x, 1j) * replaced(x.imag)
            return both.astype(x.dtype, copy=False)
        return replaced(x)

    @operator("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
    def xlogy(self, x: Any, other: Any) -> Any:
        """Return ``x * log(other)``, which is 0 where `x` is 0 and `other` is not NaN."""
        xp = self.xp
        x, other = self.numbers.either(x, other)
        none = xp.logical_and(x == 0, xp.logical_not(xp.isnan(other)))
        product = xp.multiply(x, xp.log(xp.where(none, self.numbers.like(other, 1), other)))
        return xp.where(none, self.numbers.like(product, 0), product)

    @operator("deg2rad")
    @widened
    def deg2rad(self, x: Array) -> Any:
        """Return radians for degrees."""
        return self.xp.multiply(x, self.numbers.like(x, math.pi / 180))

    @operator("rad2deg")
    @widened
    def rad2deg(self, x: Array) -> Any:
        """Return degrees for radians."""
        return self.xp.multiply(x, self.numbers.like(x, 180 / math.pi))

    @operator("_conj_physical")
    def conj_physical(self, x: Array) -> Any:
        """Return the complex conjugate, as a new array."""
        return self.xp.conjugate(x) if x.dtype in self._complex else self.capabilities.clone(x)

    @helper("conj")
    def conj(self, x: Any) -> Any:
        """Return the complex conjugate; a real array or a number is returned itself."""
        return self.xp.conjugate(x) if getattr(x, "dtype", None) in self._complex else x

    @helper("real")
    def real(self, x: Array) -> Any:
        """Return the real part of a complex array; anything else is returned itself."""
        return x.real if getattr(x, "dtype", None) in self._complex else x

    @helper("imag")
    def imag(self, x: Array) -> Any:
        """Return the imaginary part of a complex array."""
        return x.imag

    @operator("logaddexp")
    def logaddexp(self, x: Array, other: Array) -> Any:
        """Return ``log(exp(x) + exp(other))`` without overflow: with the greater one taken out, ``m
        + log1p(exp(n - m))``.
        """
        xp = self.xp
        if x.dtype not in self._complex:
            return xp.logaddexp(x, other)
        x, other = xp.broadcast_arrays(x, other)
        swapped = x.real < other.real
        greater, lesser = xp.where(swapped, other, x), xp.where(swapped, x, other)
        result = greater + xp.log1p(xp.exp(lesser - greater))
        # The difference of two infinities says nothing.
        infinite = (x.real == other.real) & xp.isinf(x.real)
        if self.lazy or bool(xp.any(infinite)):
            both = xp.where(x.real < 0, other, xp.log(xp.exp(x) + xp.exp(other)))
            result = xp.where(infinite, both, result)
        return xp.where(xp.isnan(x) | xp.isnan(other), self.numbers.like(result, _NAN), result)

    @operator("angle")
    def angle(self, x: Array) -> Any:
        """Return the argument of complex numbers; of real ones 0 or pi."""
        xp = self.xp
        if self.dtypes[x.dtype].category == COMPLEX:
            return xp.arctan2(x.imag, x.real)
        x = self.numbers.as_float(x)
        result = xp.where(x < 0, self.numbers.like(x, math.pi), self.numbers.like(x, 0))
        return xp.where(xp.isnan(x), x, result)
