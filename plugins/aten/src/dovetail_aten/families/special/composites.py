"""Special functions in terms of others, and under other names."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_dispatcher.calls import check_writable_as

_MINUS_SQRT_HALF = -math.sqrt(0.5)


def special_ndtr(self: Any) -> Any:
    """Return the distribution function of the standard normal distribution."""
    return F.mul(F.erfc(F.mul(self, _MINUS_SQRT_HALF)), 0.5)


def polygamma_(self: Any, n: int) -> Any:
    """Write `polygamma` of a tensor into it."""
    result = F.polygamma(n, F.clone(self))  # a copy: the derivative is taken where it was
    check_writable_as(result.dtype, self.dtype)
    return F.copy_(self, result)


def special_log_softmax(self: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the logarithms of softmax along `dim`."""
    return F.log_softmax(self, dim, dtype)


special_round = F.round
special_softmax = F.softmax
special_expit = F.sigmoid
special_exp2 = F.exp2
special_expm1 = F.expm1
special_log1p = F.log1p
special_erf = F.erf
special_erfc = F.erfc
special_erfinv = F.erfinv
special_gammaln = F.lgamma
special_digamma = F.digamma
special_psi = F.digamma
special_i0 = F.i0
special_sinc = F.sinc
special_logit = F.logit
special_polygamma = F.polygamma
special_multigammaln = F.mvlgamma
special_gammainc = F.igamma
special_gammaincc = F.igammac
special_xlogy = F.xlogy
special_logsumexp = F.logsumexp
