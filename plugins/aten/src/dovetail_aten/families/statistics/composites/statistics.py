"""Quantiles, and histograms of points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import float32, float64, int64

from ....composites.value_checks import checked
from ....kernel_support.dims import wrap_dim
from ....typing import Tensor

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(
    probabilities: Callable[[Any, Any], Any], *, ignores_nan: bool
) -> Callable[..., Any]:
    """Return the function of quantiles `q` along a dimension, of several `q` along a new first
    dimension. Where an element is NaN they are NaN, or it is ignored.
    """

    def quantile(
        self: Tensor, q: Any, dim: int | None, keepdim: bool, *, interpolation: str
    ) -> Any:
        own = probabilities(self, q)
        return _quantile(self, own, dim, keepdim, interpolation, ignores_nan=ignores_nan)

    return quantile


def _one(self: Any, q: float) -> Any:
    """Return a probability as a tensor."""
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
    return F.scalar_tensor(q, dtype=self.dtype, device=self.device)


def _probabilities(self: object, q: Any) -> Any:
    """Return `q`, after checking that its elements are probabilities."""
    return checked(q, lambda: F.logical_and(F.ge(q, 0), F.le(q, 1)), _no_probability)


quantile = _quantiles(_probabilities, ignores_nan=False)
quantile_scalar = _quantiles(_one, ignores_nan=False)
nanquantile = _quantiles(_probabilities, ignores_nan=True)
nanquantile_scalar = _quantiles(_one, ignores_nan=True)


def _no_probability(_value: object) -> Exception:
    return RuntimeError("quantile() q values must be in the range [0, 1]. Divide percents by 100.")


def _quantile(
    self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, *, ignores_nan: bool
) -> Any:
    if not self.numel():
        raise RuntimeError("quantile() input tensor must be non-empty. Give it elements.")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor. Flatten it.")
    if self.dtype not in (float32, float64):
        raise RuntimeError(
            "quantile() input tensor must be either float or double dtype. Convert it."
        )
    if self.dtype is not q.dtype:
        raise RuntimeError(
            "quantile() q tensor must be same dtype as the input tensor. Convert one of them."
        )
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    axis = wrap_dim(0 if dim is None else dim, self.ndim)
    whole = dim is None or not self.ndim
    rows = F.reshape(self, (-1,)) if whole else self
    if not whole and axis != self.ndim - 1:
        rows = F.movedim(self, axis, -1)
    rows = F.sort(rows, -1)[0]
    found = _interpolated(rows, _ranks(rows, F.reshape(q, (-1,)), ignores_nan), interpolation)
    # The quantiles are along the last dimension yet.
    if not q.ndim and not keepdim:
        return F.squeeze_dim(found, -1)
    found = F.movedim(found, -1, 0)
    if keepdim and self.ndim:
        ones = [1] * self.ndim if dim is None else None
        found = F.reshape(found, (found.shape[0], *ones)) if ones else F.unsqueeze(found, axis + 1)
    return found if q.ndim else F.squeeze_dim(found, 0)


def _ranks(rows: Tensor, q: Any, ignores_nan: bool) -> Any:
    """Return the places, with fractions, that quantiles have in sorted rows; the last for NaN."""
    last = rows.shape[-1] - 1
    numbers = F.eq(rows, rows)
    if ignores_nan:
        return F.mul(q, F.clamp_min(F.sub(F.sum(numbers, (-1,), True), 1), 0))
    return F.where(F.all(numbers, -1, True), F.mul(q, last), last)


def _interpolated(rows: Any, ranks: Any, interpolation: str) -> Any:
    """Return what lies at ranks between the elements of sorted rows."""
    if interpolation == "lower":
        ranks = F.floor(ranks)
    elif interpolation == "higher":
        ranks = F.ceil(ranks)
    elif interpolation == "nearest":
        ranks = F.round(ranks)
    ranks_alone = F.detach(ranks)
    below = F.to(ranks_alone, int64)
    least = F.gather(rows, -1, below)
    if interpolation not in ("linear", "midpoint"):
        return least
    weight = F.sub(ranks, below) if interpolation == "linear" else F.full_like(ranks, 0.5)
    most = F.gather(rows, -1, F.to(F.ceil(ranks_alone), int64))
    return F.lerp(least, most, weight)


def histogramdd(
    self: Tensor,
    bins: Sequence[int],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Return the histogram of points with so many bins in each dimension, and the edges."""
    options: dict[str, Any] = {"range": range, "weight": weight, "density": density}
    hist = F._histogramdd_from_bin_cts(self, bins, **options)
    return hist, tuple(F._histogramdd_bin_edges(self, bins, **options))


def histogramdd_int_bins(
    self: Tensor,
    bins: int,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Return the histogram of points with as many bins in every dimension, and the edges."""
    dims = self.shape[-1] if self.ndim else 1
    return histogramdd(self, [bins] * dims, range, weight, density)


def histogramdd_between(
    self: Tensor,
    bins: Sequence[Any],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Return the histogram of points with bins between the given edges, and these."""
    hist = F._histogramdd_from_bin_tensors(self, bins, weight=weight, density=density)
    return hist, tuple([F.clone(each) for each in bins])
