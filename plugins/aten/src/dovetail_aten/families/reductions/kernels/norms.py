"""Vector norms, and the logarithm of a sum of exponentials."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel.types import FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.checks.norm_checks import SMALL, check_renorm, check_wider
from ....kernel_support.dims import wrap_dims
from ....kernel_support.family import Family, operator, widened
from ....typing import Array
from .reductions import Dims, count


class Norms(Family):
    """Vector norms, what they limit, and logsumexp."""

    def _norm_of(self, x: Array, ord: float, dims: tuple[int, ...], keepdim: bool) -> Any:
        """Return the vector norm of an array of full precision."""
        xp = self.xp
        terms = count(x.shape, dims)
        if not terms and (ord < 0 or ord == math.inf):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
                "operation does not have an identity. Take it of a non-empty tensor."
            )
        # The norm of one number is its size: its power may not be finite.
        if terms == 1 and ord != 0:
            return xp.sum(xp.absolute(x), axis=dims, keepdims=keepdim)
        if ord == 2:
            if x.dtype in self.precision.complex:
                return xp.sqrt(
                    xp.sum(x.real * x.real + x.imag * x.imag, axis=dims, keepdims=keepdim)
                )
            return xp.sqrt(xp.sum(x * x, axis=dims, keepdims=keepdim))
        size = xp.absolute(x)
        if ord == 0:
            return xp.sum(size != 0, axis=dims, dtype=size.dtype, keepdims=keepdim)
        if ord == 1:
            return xp.sum(size, axis=dims, keepdims=keepdim)
        if ord in (math.inf, -math.inf):
            return (xp.amax if ord > 0 else xp.amin)(size, axis=dims, keepdims=keepdim)
        total = xp.sum(xp.power(size, self.numbers.like(size, ord)), axis=dims, keepdims=keepdim)
        return xp.power(total, self.numbers.like(total, 1 / ord))

    @operator("linalg_vector_norm")
    def vector_norm(
        self,
        x: Array,
        ord: Any = 2,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        dtype: NativeDtype | None = None,
    ) -> Any:
        """Return ``sum(abs(x) ** ord) ** (1 / ord)`` over `dim`, for infinities and 0 the limit."""
        kind = self.dtypes[x.dtype]
        if isinstance(ord, complex):
            raise RuntimeError(
                "linalg.vector_norm: Expected a non-complex scalar as the order of norm. Take its "
                "real part."
            )
        if kind.category < FLOAT:
            raise RuntimeError(
                "linalg.vector_norm: Expected a floating point or complex tensor as input. "
                f"Got {kind.scalar_name}. Convert it."
            )
        if dtype is not None:
            check_wider("linalg.vector_norm", kind, self.dtypes[dtype])
            x = x.astype(dtype, copy=False)
        own = x.dtype
        wide = self.precision.wide(x)
        result = self.ordered(self._norm_of(wide, ord, wrap_dims(dim, x.ndim), keepdim))
        return result.astype(own) if own in self.precision.halves else result

    @operator("norm.Scalar", "norm.ScalarOpt_dim")
    def norm(self, x: Array, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Any:
        """Return the vector norm `p` over `dim`."""
        return self.vector_norm(x, 2 if p is None else p, dim, keepdim)

    @operator("renorm")
    @widened
    def renorm(self, x: Array, p: object, dim: int, maxnorm: Any) -> Any:
        """Return `x` with every part along `dim` whose `p`-norm is greater than `maxnorm` scaled to
        that.
        """
        xp, like = self.xp, self.numbers.like
        axes = check_renorm(x.shape, p, dim, maxnorm)
        norm = self.vector_norm(x, p, axes, True)
        factor = xp.true_divide(like(norm, maxnorm), xp.add(norm, like(norm, SMALL)))
        return xp.multiply(x, xp.where(norm > maxnorm, factor, like(norm, 1)))

    @operator("logsumexp")
    def logsumexp(self, x: Array, dim: Dims, keepdim: bool = False) -> Any:
        """Return ``log(sum(exp(x)))`` over `dim` without overflow: with the maximum m taken out,
        ``m + log(sum(exp(x - m)))``.
        """
        xp = self.xp
        x = self.numbers.as_float(x)
        own = x.dtype
        if own in self.precision.halves:
            made = self.logsumexp(self.precision.wide(x), dim, keepdim)
            return self.precision.narrow(made, own)
        dims = wrap_dims(dim, x.ndim)
        if not count(x.shape, dims):
            return self.ordered(xp.log(xp.sum(x, axis=dims, keepdims=keepdim)))
        top = xp.amax(x.real if own in self.precision.complex else x, axis=dims, keepdims=True)
        top = xp.where(xp.isfinite(top), top, self.numbers.like(top, 0))
        total = xp.log(xp.sum(xp.exp(x - top), axis=dims, keepdims=keepdim))
        return self.ordered(total + (top if keepdim else top.squeeze(dims)))
