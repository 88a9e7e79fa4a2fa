"""Numbers of the gamma distribution and of Dirichlet's, and their derivatives by parameters: how a
number moves with a parameter while the probability of smaller ones stays the same (Figurnov,
Mohamed and Mnih 2018, arXiv:1805.08498).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_kernel import finfo, float32, float64
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import operator
from ....typing import Array
from .drawing import Drawing

_STEP: Final = 1e-3
"""Of the differences by a parameter, as a part of it: four of them are right to twelve digits."""


class GammaNumbers(Drawing):
    """Gamma and Dirichlet numbers, in float32 and float64."""

    def _check_numbers(self, name: str, x: Array) -> None:
        kind = self.dtypes[x.dtype]
        if kind not in (float32, float64):
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{kind.scalar_name}'. Convert to float32."
            )

    def _gamma(self, alpha: Any, generator: object) -> Any:
        """Return numbers of the standard gamma distribution, in float64."""
        wide = self.native_dtypes[float64]
        drawn = self.capabilities.uniform(tuple(alpha.shape), wide, generator)
        return self.scipy("special.gammaincinv", "_standard_gamma")(alpha.astype(wide), drawn)

    def _positive(self, x: Array, dtype: NativeDtype) -> Any:
        """Return numbers in a dtype, at least the smallest normal one."""
        return self.xp.maximum(x, finfo(self.dtypes[dtype]).tiny).astype(dtype)

    @operator("_standard_gamma")
    def standard_gamma(self, x: Array, generator: object = None) -> Any:
        """Return numbers of the gamma distributions with the shapes `x` and rate 1."""
        self._check_numbers("gamma_cpu", x)
        return self._positive(self._gamma(x, generator), x.dtype)

    @operator("_sample_dirichlet")
    def sample_dirichlet(self, x: Array, generator: object = None) -> Any:
        """Return points of the simplex: gamma numbers divided by their sums along the last
        dimension.
        """
        self._check_numbers("dirichlet", x)
        xp = self.xp
        # Numbers of small shapes are 0, whose shares are not: where all are, 0 / 0 would be NaN.
        drawn = xp.maximum(self._gamma(x, generator), finfo(float64).tiny)
        shares = self._positive(drawn / xp.sum(drawn, axis=-1, keepdims=True), x.dtype)
        return xp.minimum(shares, 1 - finfo(self.dtypes[x.dtype]).eps / 2).astype(x.dtype)

    def _by_parameter(self, function: Callable[[Any], Any], parameter: Any) -> Any:
        """Return the derivative of ``function(parameter)`` by differences."""
        h = parameter * _STEP
        near = function(parameter + h) - function(parameter - h)
        far = function(parameter + 2 * h) - function(parameter - 2 * h)
        return (8 * near - far) / (12 * h)

    @operator("_standard_gamma_grad")
    def standard_gamma_grad(self, x: Array, output: Array) -> Any:
        """Return the derivative of gamma numbers `output` by their shapes `x`."""
        self._check_numbers("_standard_gamma_grad_cpu", x)
        xp, name = self.xp, "_standard_gamma_grad"
        alpha, drawn = (each.astype(xp.float64) for each in (x, output))
        below, above = (self.scipy(f"special.{each}", name) for each in ("gammainc", "gammaincc"))
        log_gamma = self.scipy("special.gammaln", name)(alpha)
        inverse_density = xp.exp(log_gamma + drawn - (alpha - 1) * xp.log(drawn))
        lower = -self._by_parameter(lambda a: below(a, drawn), alpha)
        upper = self._by_parameter(lambda a: above(a, drawn), alpha)
        moved = xp.where(drawn < alpha, lower, upper) * inverse_density
        return moved.astype(x.dtype)

    @operator("_dirichlet_grad")
    def dirichlet_grad(self, x: Array, alpha: Array, total: Array) -> Any:
        """Return the derivative of beta numbers `x` by `alpha`, for a constant other parameter
        ``total - alpha``, divided by ``1 - x``.
        """
        self._check_numbers("_dirichlet_grad_cpu", x)
        xp, name = self.xp, "_dirichlet_grad"
        drawn, one, both = (each.astype(xp.float64) for each in (x, alpha, total))
        other, rest = both - one, 1 - drawn
        share = self.scipy("special.betainc", name)
        log_beta = self.scipy("special.betaln", name)(one, other)
        logarithm = log_beta - (one - 1) * xp.log(drawn) - other * xp.log(rest)
        lower = -self._by_parameter(lambda a: share(a, other, drawn), one)
        upper = self._by_parameter(lambda a: share(other, a, rest), one)
        moved = xp.where(drawn * both < one, lower, upper) * xp.exp(logarithm)
        return moved.astype(x.dtype)
