"""Orthogonal polynomials: Chebyshev's of four kinds, Hermite's of two, Laguerre's and Legendre's.

The degree is the whole part of `n`; below zero a polynomial is 0. One of `x` and `n` may be a
number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .family import Family, operator

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
        return self._evaluated(
            self.scipy("special.eval_chebyt", "special_chebyshev_polynomial_t"), x, n
        )

    @operator(
        "special_chebyshev_polynomial_u",
        "special_chebyshev_polynomial_u.x_scalar",
        "special_chebyshev_polynomial_u.n_scalar",
    )
    def chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the second kind of degree `n`."""
        return self._evaluated(
            self.scipy("special.eval_chebyu", "special_chebyshev_polynomial_u"), x, n
        )

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
        return self._evaluated(
            self.scipy("special.eval_hermite", "special_hermite_polynomial_h"), x, n
        )

    @operator(
        "special_hermite_polynomial_he",
        "special_hermite_polynomial_he.x_scalar",
        "special_hermite_polynomial_he.n_scalar",
    )
    def hermite_polynomial_he(self, x: Any, n: Any) -> Any:
        """Return the probabilist's Hermite polynomial of degree `n`."""
        return self._evaluated(
            self.scipy("special.eval_hermitenorm", "special_hermite_polynomial_he"), x, n
        )

    @operator(
        "special_laguerre_polynomial_l",
        "special_laguerre_polynomial_l.x_scalar",
        "special_laguerre_polynomial_l.n_scalar",
    )
    def laguerre_polynomial_l(self, x: Any, n: Any) -> Any:
        """Return Laguerre's polynomial of degree `n`."""
        return self._evaluated(
            self.scipy("special.eval_laguerre", "special_laguerre_polynomial_l"), x, n
        )

    @operator(
        "special_legendre_polynomial_p",
        "special_legendre_polynomial_p.x_scalar",
        "special_legendre_polynomial_p.n_scalar",
    )
    def legendre_polynomial_p(self, x: Any, n: Any) -> Any:
        """Return Legendre's polynomial of degree `n`."""
        return self._evaluated(
            self.scipy("special.eval_legendre", "special_legendre_polynomial_p"), x, n
        )

    @operator(
        "special_shifted_chebyshev_polynomial_t",
        "special_shifted_chebyshev_polynomial_t.x_scalar",
        "special_shifted_chebyshev_polynomial_t.n_scalar",
    )
    def shifted_chebyshev_polynomial_t(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the first kind of ``2 x - 1`` and degree `n`."""
        return self._evaluated(
            self._shifted(self.scipy("special.eval_chebyt", "special_chebyshev_polynomial_t")), x, n
        )

    @operator(
        "special_shifted_chebyshev_polynomial_u",
        "special_shifted_chebyshev_polynomial_u.x_scalar",
        "special_shifted_chebyshev_polynomial_u.n_scalar",
    )
    def shifted_chebyshev_polynomial_u(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the second kind of ``2 x - 1`` and degree `n`."""
        return self._evaluated(
            self._shifted(self.scipy("special.eval_chebyu", "special_chebyshev_polynomial_u")), x, n
        )

    @operator(
        "special_shifted_chebyshev_polynomial_v",
        "special_shifted_chebyshev_polynomial_v.x_scalar",
        "special_shifted_chebyshev_polynomial_v.n_scalar",
    )
    def shifted_chebyshev_polynomial_v(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the third kind of ``2 x - 1`` and degree `n`."""
        return self._evaluated(self._shifted(self._third_kind), x, n)

    @operator(
        "special_shifted_chebyshev_polynomial_w",
        "special_shifted_chebyshev_polynomial_w.x_scalar",
        "special_shifted_chebyshev_polynomial_w.n_scalar",
    )
    def shifted_chebyshev_polynomial_w(self, x: Any, n: Any) -> Any:
        """Return Chebyshev's polynomial of the fourth kind of ``2 x - 1`` and degree `n`."""
        return self._evaluated(self._shifted(self._fourth_kind), x, n)

    def _evaluated(self, evaluate: _Evaluate, x: Any, n: Any) -> Any:
        """Return a polynomial in the dtype of `x`; ``evaluate(degree, x)`` computes with whole
        degrees in double precision.
        """
        xp = self.xp
        x, n = self.numbers.either(x, n)
        degree = n.astype(xp.int64)
        zero = self.numbers.like(degree, 0)
        value = evaluate(xp.maximum(degree, zero), x).astype(x.dtype, copy=False)
        # Of degree 0 a polynomial is 1, also of NaN.
        return xp.where(degree > zero, value, degree == zero)

    def _second_kind(self, degree: Any, x: Any) -> tuple[Any, Any]:
        """Return the polynomials of the second kind of a degree, and of the one below: of -1 it is
        0.
        """
        evaluate = self.scipy("special.eval_chebyu", "special_chebyshev_polynomial_u")
        below = self.xp.subtract(degree, self.numbers.like(degree, 1))
        return evaluate(degree, x), evaluate(below, x)

    def _third_kind(self, degree: Any, x: Any) -> Any:
        return self.xp.subtract(*self._second_kind(degree, x))

    def _fourth_kind(self, degree: Any, x: Any) -> Any:
        return self.xp.add(*self._second_kind(degree, x))

    def _shifted(self, evaluate: _Evaluate) -> _Evaluate:
        """Return what computes a polynomial of ``2 x - 1``."""
        xp, like = self.xp, self.numbers.like
        return lambda degree, x: evaluate(degree, xp.subtract(xp.add(x, x), like(x, 1)))
