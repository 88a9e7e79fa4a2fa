"""Orthogonal polynomials: Chebyshev's of four kinds, Hermite's of two, Laguerre's and Legendre's.

The degree is the whole part of `n`; below zero a polynomial is 0. One of `x` and `n` may be a
number. Recurrences take as many steps as the degree says, so high degrees have other formulas, or
are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ....kernel_support.family import Family, operator
from ....typing import Array

_Evaluate = Callable[[Any, Any], Any]

_HIGH: Final = 4096
"""Degree from which Chebyshev's polynomials are computed by trigonometry. Hermite's have no finite
values there.
"""
_HIGHEST: Final = 1 << 24
"""Degree of the recurrences of Laguerre and Legendre, which take 50 ms there per element."""


class Polynomials(Family):
    """Orthogonal polynomials of every element."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._at_high_degree: Final = {
            "eval_chebyt": self._first_of_high_degree,
            "eval_chebyu": self._second_of_high_degree,
            "eval_hermite": self._not_finite,
            "eval_hermitenorm": self._not_finite,
        }

    @operator("special_chebyshev_polynomial_t", overloads=("x_scalar", "n_scalar"))
    def chebyshev_polynomial_t(self, x: Array, n: Array) -> Any:
        """Return Chebyshev's polynomial of the first kind of degree `n`."""
        return self._evaluated(self._of_scipy("eval_chebyt", "chebyshev_polynomial_t"), x, n)

    @operator("special_chebyshev_polynomial_u", overloads=("x_scalar", "n_scalar"))
    def chebyshev_polynomial_u(self, x: Array, n: Array) -> Any:
        """Return Chebyshev's polynomial of the second kind of degree `n`."""
        return self._evaluated(self._of_scipy("eval_chebyu", "chebyshev_polynomial_u"), x, n)

    @operator("special_chebyshev_polynomial_v", overloads=("x_scalar", "n_scalar"))
    def chebyshev_polynomial_v(self, x: Array, n: object) -> Any:
        """Return Chebyshev's polynomial of the third kind of degree `n`."""
        return self._evaluated(self._third_kind, x, n)

    @operator("special_chebyshev_polynomial_w", overloads=("x_scalar", "n_scalar"))
    def chebyshev_polynomial_w(self, x: Array, n: Array) -> Any:
        """Return Chebyshev's polynomial of the fourth kind of degree `n`."""
        return self._evaluated(self._fourth_kind, x, n)

    @operator("special_hermite_polynomial_h", overloads=("x_scalar", "n_scalar"))
    def hermite_polynomial_h(self, x: Array, n: int) -> Any:
        """Return the physicist's Hermite polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_hermite", "hermite_polynomial_h"), x, n)

    @operator("special_hermite_polynomial_he", overloads=("x_scalar", "n_scalar"))
    def hermite_polynomial_he(self, x: Array, n: Array) -> Any:
        """Return the probabilist's Hermite polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_hermitenorm", "hermite_polynomial_he"), x, n)

    @operator("special_laguerre_polynomial_l", overloads=("x_scalar", "n_scalar"))
    def laguerre_polynomial_l(self, x: Array, n: object) -> Any:
        """Return Laguerre's polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_laguerre", "laguerre_polynomial_l"), x, n)

    @operator("special_legendre_polynomial_p", overloads=("x_scalar", "n_scalar"))
    def legendre_polynomial_p(self, x: Array, n: int) -> Any:
        """Return Legendre's polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_legendre", "legendre_polynomial_p"), x, n)

    @operator("special_shifted_chebyshev_polynomial_t", overloads=("x_scalar", "n_scalar"))
    def shifted_chebyshev_polynomial_t(self, x: Array, n: Array) -> Any:
        """Return Chebyshev's polynomial of the first kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_t(*self._shifted(x, n))

    @operator("special_shifted_chebyshev_polynomial_u", overloads=("x_scalar", "n_scalar"))
    def shifted_chebyshev_polynomial_u(self, x: Array, n: Array) -> Any:
        """Return Chebyshev's polynomial of the second kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_u(*self._shifted(x, n))

    @operator("special_shifted_chebyshev_polynomial_v", overloads=("x_scalar", "n_scalar"))
    def shifted_chebyshev_polynomial_v(self, x: Array, n: object) -> Any:
        """Return Chebyshev's polynomial of the third kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_v(*self._shifted(x, n))

    @operator("special_shifted_chebyshev_polynomial_w", overloads=("x_scalar", "n_scalar"))
    def shifted_chebyshev_polynomial_w(self, x: Array, n: int) -> Any:
        """Return Chebyshev's polynomial of the fourth kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_w(*self._shifted(x, n))

    def _evaluated(self, evaluate: _Evaluate, x: Any, n: Any) -> Any:
        """Return a polynomial in the dtype of `x`; ``evaluate(degree, x)`` has whole degrees, and
        double precision.
        """
        xp, like = self.xp, self.numbers.like
        x, n = self.numbers.either(x, n)
        degree = n.astype(xp.int64)
        zero = like(degree, 0)
        value = evaluate(xp.maximum(degree, zero), x.astype(xp.float64))
        # Of degree 0 a polynomial is 1, also of NaN.
        constant = xp.where(degree == zero, like(value, 1), like(value, 0))
        return xp.where(degree <= zero, constant, value).astype(x.dtype)

    def _of_scipy(self, function: str, name: str) -> _Evaluate:
        evaluate = self.scipy(f"special.{function}", f"special_{name}")
        xp, like = self.xp, self.numbers.like
        # Asked here, and not where the backend cannot compute the polynomial anyway.
        at_high_degree = self._at_high_degree.get(function)

        def compute(degree: Any, x: Array) -> Any:
            high = xp.greater(degree, like(degree, _HIGH if at_high_degree else _HIGHEST))
            if not self.lazy and not xp.any(high):
                return evaluate(degree, x)
            if at_high_degree is None:
                if self.lazy:
                    return evaluate(degree, x)
                raise RuntimeError(
                    f"special_{name}: the degree should be at most {_HIGHEST}, since each takes a "
                    "step. Bound n."
                )
            low = evaluate(xp.where(high, like(degree, 0), degree), x)
            return xp.where(high, at_high_degree(degree, x), low)

        return compute

    def _first_of_high_degree(self, degree: Array, x: Array) -> Any:
        """Return ``cos(n arccos x)``, outside of [-1, 1] ``cosh(n arccosh |x|)`` with a sign."""
        xp, like, size = self.xp, self.numbers.like, self.xp.absolute(x)
        n = degree.astype(xp.float64)
        within = xp.sin(xp.add(xp.multiply(n, xp.arccos(x)), like(x, math.pi / 2)))
        growth = xp.multiply(n, xp.arccosh(size))
        twice = xp.add(xp.exp(growth), xp.exp(xp.negative(growth)))
        outside = xp.multiply(self._half_with_sign(degree, x), twice)
        return xp.where(xp.less_equal(size, like(x, 1)), within, outside)

    def _second_of_high_degree(self, degree: Array, x: Array) -> Any:
        """Return ``sin((n + 1) t) / sin t`` of ``t = arccos x``, or the same of ``sinh``."""
        xp, one, size = self.xp, self.numbers.like(x, 1), self.xp.absolute(x)
        n = xp.add(degree.astype(xp.float64), one)
        angle, growth = xp.arccos(x), xp.arccosh(size)
        within = xp.true_divide(xp.sin(xp.multiply(n, angle)), xp.sin(angle))
        grown = xp.multiply(n, growth)
        twice = xp.subtract(xp.expm1(grown), xp.expm1(xp.negative(grown)))
        below = xp.subtract(xp.expm1(growth), xp.expm1(xp.negative(growth)))
        halves = self._half_with_sign(degree, x)
        signs = xp.add(halves, halves)
        outside = xp.where(
            xp.equal(size, one),
            xp.multiply(signs, n),
            xp.multiply(signs, xp.true_divide(twice, below)),
        )
        return xp.where(xp.less(size, one), within, outside)

    def _half_with_sign(self, degree: Any, x: Array) -> Any:
        """Return -0.5 where `x` is negative and the degree is odd, elsewhere 0.5."""
        xp, like = self.xp, self.numbers.like
        odd = xp.equal(xp.bitwise_and(degree, like(degree, 1)), like(degree, 1))
        negative = xp.logical_and(odd, xp.less(x, like(x, 0)))
        return xp.where(negative, like(x, -0.5), like(x, 0.5))

    def _not_finite(self, degree: Any, x: Array) -> Any:
        return self.numbers.like(x, float("nan"))

    def _second_kind(self, degree: object, x: Array) -> tuple[Any, Any]:
        """Return the polynomials of the second kind of a degree, and of the one below: of -1 it is
        0.
        """
        evaluate = self._of_scipy("eval_chebyu", "chebyshev_polynomial_u")
        below = self.xp.subtract(degree, self.numbers.like(degree, 1))
        return evaluate(degree, x), evaluate(below, x)

    def _third_kind(self, degree: object, x: Array) -> Any:
        return self.xp.subtract(*self._second_kind(degree, x))

    def _fourth_kind(self, degree: Array, x: Array) -> Any:
        return self.xp.add(*self._second_kind(degree, x))

    def _shifted(self, x: Array, n: Any) -> tuple[Any, Any]:
        """Return ``2 x - 1``, and `n`."""
        x, n = self.numbers.either(x, n)
        like = self.numbers.like
        return self.xp.subtract(self.xp.multiply(x, like(x, 2)), like(x, 1)), n
