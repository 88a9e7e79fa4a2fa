"""Orthogonal polynomials: Chebyshev's of four kinds, Hermite's of two, Laguerre's and Legendre's.

The degree is the whole part of `n`; below zero a polynomial is 0. One of `x` and `n` may be a
number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....kernel_support.family import Family, operator

_Evaluate = Callable[[Any, Any], Any]


class Polynomials(Family):
    """Orthogonal polynomials of every element."""

    @operator(
        "special_chebyshev_polynomial_t",
        "special_chebyshev_polynomial_t.x_scalar",
        "special_chebyshev_polynomial_t.n_scalar",
    )
    def chebyshev_polynomial_t(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the first kind of degree `n`."""
        return self._evaluated(self._of_scipy("eval_chebyt", "chebyshev_polynomial_t"), x, n)

    @operator(
        "special_chebyshev_polynomial_u",
        "special_chebyshev_polynomial_u.x_scalar",
        "special_chebyshev_polynomial_u.n_scalar",
    )
    def chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the second kind of degree `n`."""
        return self._evaluated(self._of_scipy("eval_chebyu", "chebyshev_polynomial_u"), x, n)

    @operator(
        "special_chebyshev_polynomial_v",
        "special_chebyshev_polynomial_v.x_scalar",
        "special_chebyshev_polynomial_v.n_scalar",
    )
    def chebyshev_polynomial_v(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the third kind of degree `n`."""
        return self._evaluated(self._third_kind, x, n)

    @operator(
        "special_chebyshev_polynomial_w",
        "special_chebyshev_polynomial_w.x_scalar",
        "special_chebyshev_polynomial_w.n_scalar",
    )
    def chebyshev_polynomial_w(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the fourth kind of degree `n`."""
        return self._evaluated(self._fourth_kind, x, n)

    @operator(
        "special_hermite_polynomial_h",
        "special_hermite_polynomial_h.x_scalar",
        "special_hermite_polynomial_h.n_scalar",
    )
    def hermite_polynomial_h(self, x: Any, n: Any) -> Any:
        """Return the physicist's Hermite polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_hermite", "hermite_polynomial_h"), x, n)

    @operator(
        "special_hermite_polynomial_he",
        "special_hermite_polynomial_he.x_scalar",
        "special_hermite_polynomial_he.n_scalar",
    )
    def hermite_polynomial_he(self, x: Any, n: Any) -> Any:
        """Return the probabilist's Hermite polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_hermitenorm", "hermite_polynomial_he"), x, n)

    @operator(
        "special_laguerre_polynomial_l",
        "special_laguerre_polynomial_l.x_scalar",
        "special_laguerre_polynomial_l.n_scalar",
    )
    def laguerre_polynomial_l(self, x: Any, n: Any) -> Any:
        """Return Laguerre's polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_laguerre", "laguerre_polynomial_l"), x, n)

    @operator(
        "special_legendre_polynomial_p",
        "special_legendre_polynomial_p.x_scalar",
        "special_legendre_polynomial_p.n_scalar",
    )
    def legendre_polynomial_p(self, x: Any, n: Any) -> Any:
        """Return Legendre's polynomial of degree `n`."""
        return self._evaluated(self._of_scipy("eval_legendre", "legendre_polynomial_p"), x, n)

    @operator(
        "special_shifted_chebyshev_polynomial_t",
        "special_shifted_chebyshev_polynomial_t.x_scalar",
        "special_shifted_chebyshev_polynomial_t.n_scalar",
    )
    def shifted_chebyshev_polynomial_t(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the first kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_t(*self._shifted(x, n))

    @operator(
        "special_shifted_chebyshev_polynomial_u",
        "special_shifted_chebyshev_polynomial_u.x_scalar",
        "special_shifted_chebyshev_polynomial_u.n_scalar",
    )
    def shifted_chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the second kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_u(*self._shifted(x, n))

    @operator(
        "special_shifted_chebyshev_polynomial_v",
        "special_shifted_chebyshev_polynomial_v.x_scalar",
        "special_shifted_chebyshev_polynomial_v.n_scalar",
    )
    def shifted_chebyshev_polynomial_v(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the third kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_v(*self._shifted(x, n))

    @operator(
        "special_shifted_chebyshev_polynomial_w",
        "special_shifted_chebyshev_polynomial_w.x_scalar",
        "special_shifted_chebyshev_polynomial_w.n_scalar",
    )
    def shifted_chebyshev_polynomial_w(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the fourth kind of ``2 x - 1`` and degree `n`."""
        return self.chebyshev_polynomial_w(*self._shifted(x, n))

    def _evaluated(self, evaluate: _Evaluate, x: Any, n: Any) -> Any:
        """Return a polynomial in the dtype of `x`; ``evaluate(degree, x)`` has whole degrees, and
        double precision.
        """
        xp = self.xp
        x, n = self.numbers.either(x, n)
        degree = n.astype(xp.int64)
        zero = self.numbers.like(degree, 0)
        below = degree < zero
        value = evaluate(xp.where(below, zero, degree), x.astype(xp.float64))
        # Of degree 0 a polynomial is 1, also of NaN.
        value = xp.where(degree == zero, self.numbers.like(value, 1), value)
        return xp.where(below, self.numbers.like(value, 0), value).astype(x.dtype)

    def _of_scipy(self, function: str, name: str) -> _Evaluate:
        return self.scipy(f"special.{function}", f"special_{name}")

    def _second_kind(self, degree: Any, x: Any) -> tuple[Any, Any]:
        """Return the polynomials of the second kind of a degree, and of the one below: of -1 it is
        0.
        """
        evaluate = self._of_scipy("eval_chebyu", "chebyshev_polynomial_u")
        below = self.xp.subtract(degree, self.numbers.like(degree, 1))
        return evaluate(degree, x), evaluate(below, x)

    def _third_kind(self, degree: Any, x: Any) -> Any:
        return self.xp.subtract(*self._second_kind(degree, x))

    def _fourth_kind(self, degree: Any, x: Any) -> Any:
        return self.xp.add(*self._second_kind(degree, x))

    def _shifted(self, x: Any, n: Any) -> tuple[Any, Any]:
        """Return ``2 x - 1``, and `n`."""
        x, n = self.numbers.either(x, n)
        like = self.numbers.like
        return self.xp.subtract(self.xp.multiply(x, like(x, 2)), like(x, 1)), n
