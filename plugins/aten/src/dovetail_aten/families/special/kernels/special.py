"""Special functions: gamma, error and Bessel functions and their kin, SciPy's where it has them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail_kernel import float64

from ....kernel_support.dims import check_room
from ....kernel_support.family import Family, operator, widened
from ....typing import Array

_LOG_PI = math.log(math.pi)
_SMALL = 1e-20
"""A number whose sine is itself in every precision."""
_NORMAL = 2.0**-1022
"""The least number in double precision that has all digits."""
_LAST_FACTORIAL = 170
"""The greatest number whose factorial is finite."""
_SHIFTS = 8
"""Terms of trigamma before its asymptotic series, the rest of which is below 1e-17 from 8 on."""
_BERNOULLI = (
    *(-174611 / 330, 43867 / 798, -3617 / 510, 7 / 6, -691 / 2730),
    *(5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6),
)
"""The Bernoulli numbers of the orders 20, 18, ..., 2."""


class Special(Family):
    """Special functions of every element."""

    scipy_functions: ClassVar = {
        "i0": "special.i0",
        "igamma": "special.gammainc",
        "igammac": "special.gammaincc",
        "special_bessel_j0": "special.j0",
        "special_bessel_j1": "special.j1",
        "special_bessel_y0": "special.y0",
        "special_bessel_y1": "special.y1",
        "special_entr": "special.entr",
        "special_erfcx": "special.erfcx",
        "special_i0e": "special.i0e",
        "special_i1": "special.i1",
        "special_i1e": "special.i1e",
        "special_log_ndtr": "special.log_ndtr",
        "special_modified_bessel_i0": "special.i0",
        "special_modified_bessel_i1": "special.i1",
        "special_modified_bessel_k0": "special.k0",
        "special_modified_bessel_k1": "special.k1",
        "special_ndtri": "special.ndtri",
        "special_scaled_modified_bessel_k0": "special.k0e",
        "special_scaled_modified_bessel_k1": "special.k1e",
    }

    @operator("lgamma")
    @widened
    def lgamma(self, x: Array) -> Any:
        """Return ``log(abs(gamma(x)))``."""
        xp = self.xp
        # SciPy's of minus infinity is not infinite.
        found = self.scipy("special.gammaln", "lgamma")(self._unless_infinite(x))
        if self.dtypes[x.dtype] is not float64:
            return found
        size = xp.absolute(x)  # 1 / x is infinite below, and so is SciPy's
        return xp.where(size < self.numbers.like(x, _NORMAL), xp.negative(xp.log(size)), found)

    def _unless_infinite(self, x: Array) -> Any:
        """Return `x` with infinity in place of minus infinity."""
        xp, like = self.xp, self.numbers.like
        return xp.where(x == like(x, -math.inf), like(x, math.inf), x)

    @operator("erfinv")
    @widened
    def erfinv(self, x: Array) -> Any:
        """Return the inverse of erf: SciPy's, which loses the sign of a zero."""
        found = self.scipy("special.erfinv", "erfinv")(x)
        return self.xp.copysign(found, x)

    @operator("digamma")
    @widened
    def digamma(self, x: Array) -> Any:
        """Return the derivative of lgamma: by SciPy of positive numbers, and of negative ones by
        ``digamma(1 - x) - pi / tan(pi * x)``, since SciPy's takes 4 µs for each.
        """
        xp, like = self.xp, self.numbers.like
        psi, one, zero = self.scipy("special.psi", "digamma"), like(x, 1), like(x, 0)
        negative = x < zero
        if not self.lazy and not xp.any(negative):
            return psi(x)
        whole = xp.trunc(x)
        found = psi(xp.where(negative, one - x, x))
        pole = xp.where(x == whole, like(x, math.nan), xp.tan(like(x, math.pi) * (x - whole)))
        return xp.where(negative, found - like(x, math.pi) / pole, found)

    @operator("polygamma")
    def polygamma(self, n: int, x: Array) -> Any:
        """Return derivative `n` of digamma, which is ``(-1) ** (n + 1) * n! * zeta(n + 1, x)``."""
        if n < 0:
            raise RuntimeError("polygamma(n, x) does not support negative n. Give 0 or more.")
        return self._derivative_of_digamma(x, n)

    @widened
    def _derivative_of_digamma(self, x: Array, n: int) -> Any:
        if n == 0:
            return self.digamma(x)
        if n == 1:
            return self._trigamma(x)
        xp, like = self.xp, self.numbers.like
        factorial = float(math.factorial(n)) if n <= _LAST_FACTORIAL else math.inf
        zeta = self.scipy("special.zeta", "polygamma")(like(x, float(n + 1)), x)
        # SciPy's of infinity is NaN for some orders.
        zeta = xp.where(x == like(x, math.inf), like(x, 0), zeta)
        return xp.multiply(zeta, like(x, factorial if n % 2 else -factorial))

    def _trigamma(self, x: Array) -> Any:
        """Return the derivative of digamma: the first terms of the sum of ``1 / (x + k) ** 2``, and
        the asymptotic series for the others. SciPy's zeta takes 700 ns for each number.

        For negative numbers it is ``(pi / sin(pi * x)) ** 2 - trigamma(1 - x)``.
        """
        xp, like = self.xp, self.numbers.like
        wide = x.astype(xp.float64, copy=False)
        one, pi = like(wide, 1), like(wide, math.pi)
        negative = wide < like(wide, 0)
        y, found = xp.where(negative, one - wide, wide), like(wide, 0)
        for _ in range(_SHIFTS):
            found = found + xp.reciprocal(y * y)
            y = y + one
        inverse = xp.reciprocal(y)
        square = inverse * inverse
        series = like(wide, _BERNOULLI[0])
        for number in _BERNOULLI[1:]:
            series = series * square + like(wide, number)
        found = found + (inverse * (series * square + one) + square * like(wide, 0.5))
        pole = pi / xp.where(negative, xp.sin((wide - xp.rint(wide)) * pi), one)
        found = xp.where(negative, pole * pole - found, found)
        return self.in_order(found.astype(x.dtype, copy=False), x)

    @operator("mvlgamma")
    @widened
    def mvlgamma(self, x: Array, p: int) -> Any:
        """Return the logarithm of the multivariate gamma function of dimension `p`: ``p (p - 1) / 4
        * log(pi)`` and the sum of ``lgamma(x - i / 2)`` for i below `p`.
        """
        if p < 1:
            raise RuntimeError("p has to be greater than or equal to 1. It is a dimension.")
        check_room(p * (x.size + 4), x.dtype.itemsize)  # PyTorch makes all terms at once
        xp, like = self.xp, self.numbers.like
        result = xp.add(self.lgamma(x), like(x, p * (p - 1) / 4 * _LOG_PI))
        for i in range(1, p):
            result = xp.add(result, self.lgamma(xp.subtract(x, like(x, i / 2))))
        return result

    @operator("special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar")
    def zeta(self, x: Array, other: Array) -> Any:
        """Return the Hurwitz zeta function, the sum of ``1 / (k + other) ** x`` for k from 0 on."""
        return self.scipy("special.zeta", "special_zeta")(*self.numbers.either(x, other))

    @operator("logit")
    @widened
    def logit(self, x: Array, eps: float | None = None) -> Any:
        """Return ``log(x / (1 - x))``; with `eps`, of what is clamped to [eps, 1 - eps]."""
        xp, like = self.xp, self.numbers.like
        if eps is not None:
            low, high = like(x, eps), like(x, 1 - eps)  # in the wrong order if eps > 0.5
            x = xp.where(x < low, low, xp.where(x > high, high, x))
        return xp.log(xp.true_divide(x, xp.subtract(like(x, 1), x)))

    @operator("logit_backward")
    @widened
    def logit_backward(self, grad_output: Array, x: Array, eps: float | None = None) -> Any:
        """Return the gradient of `logit`, ``grad / (x * (1 - x))``: beyond the clamp zero, without
        one NaN.
        """
        xp, like = self.xp, self.numbers.like
        low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
        outside = xp.logical_or(x < like(x, low), x > like(x, high))
        slope = xp.multiply(x, xp.subtract(like(x, 1), x))
        beyond = like(x, math.nan if eps is None else 0.0)
        return xp.where(outside, beyond, xp.true_divide(grad_output, slope))

    @operator("sinc")
    @widened
    def sinc(self, x: Array) -> Any:
        """Return ``sin(pi * x) / (pi * x)``, which is 1 at 0."""
        return self._sine_over(self.xp.multiply(x, self.numbers.like(x, math.pi)))

    @operator("special_spherical_bessel_j0")
    def spherical_bessel_j0(self, x: Array) -> Any:
        """Return ``sin(x) / x``, which is 1 at 0, and 0 at infinity."""
        xp, like = self.xp, self.numbers.like
        return xp.where(xp.isinf(x), like(x, 0), self._sine_over(x))

    def _sine_over(self, x: Array) -> Any:
        xp, like = self.xp, self.numbers.like
        # The sine of a small number is that number.
        away = xp.where(x == like(x, 0), like(x, _SMALL), x)
        return xp.true_divide(xp.sin(away), away)

    @operator("special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar")
    def xlog1py(self, x: Array, other: Array) -> Any:
        """Return ``x * log(1 + other)``, which is 0 where `x` is 0 and `other` is not NaN."""
        return self._xlog1py(*self.numbers.either(x, other))

    @widened
    def _xlog1py(self, x: Array, other: Array) -> Any:
        xp, like = self.xp, self.numbers.like
        none = xp.logical_and(x == like(x, 0), xp.logical_not(xp.isnan(other)))
        product = xp.multiply(x, xp.log1p(xp.where(none, like(other, 0), other)))
        return xp.where(none, like(product, 0), product)

    @operator("special_airy_ai")
    def airy_ai(self, x: Array) -> Any:
        """Return the Airy function Ai."""
        # From 200 on it is 0 in any dtype, and SciPy gives up on numbers beyond a million.
        xp, end = self.xp, self.numbers.like(x, 200)
        x = xp.where(xp.logical_and(x > end, xp.isfinite(x)), end, x)
        return self.scipy("special.airy", "special_airy_ai")(x)[0]
