"""Histograms: how many elements lie in each bin, or how much they weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import float32, float64, int8, int16, int32, int64, uint8

from ....kernel_support.checks.range_checks import double_of
from ....kernel_support.dims import check_size
from ....kernel_support.family import Family, operator, widened
from ....typing import Array

_COUNTED = frozenset({uint8, int8, int16, int32, int64})
_WIDE = 1e18


def check_bins(bins: int, dim: int = 0) -> None:
    """Raise an error for a number of bins that is not positive."""
    if bins <= 0:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}. Give one "
            "bin at least."
        )


class Histograms(Family):
    """Elements counted by bins."""

    @operator("histc")
    @widened
    def histc(self, x: Array, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
        """Return how many elements lie in each of `bins` bins of one width from `min` to `max`; of
        equal bounds, from the least element to the greatest.
        """
        xp = self.xp
        self.check_float("histogram_cpu", x)
        check_bins(bins)
        min, max = double_of(min), double_of(max)
        if max < min:
            raise RuntimeError("torch.histc: max must be larger than min. Swap them.")
        like, x = self.numbers.like, xp.reshape(x, (-1,))
        low, high = like(x, min), like(x, max)
        if min == max and x.size:
            low, high = xp.amin(x), xp.amax(x)
        if not self.lazy and not bool(xp.isfinite(low) & xp.isfinite(high)):
            raise RuntimeError(
                f"torch.histc: range of [{float(low):g}, {float(high):g}] is not finite. Give min "
                "and max."
            )
        low, high = self._apart(low, high, like(x, 1))
        if self.lazy or bool(xp.maximum(xp.negative(low), high) > like(x, _WIDE)):
            # The width of all bins, or a distance times their number, would be infinite.
            x, low, high = [xp.multiply(each, like(x, 2.0**-64)) for each in (x, low, high)]
        inside = xp.logical_and(x >= low, x <= high)
        place = xp.where(inside, (x - low) * like(x, bins) / (high - low), like(x, 0))
        place = xp.minimum(place.astype(xp.int64), bins - 1)
        return self._added(bins, place, inside.astype(xp.int64)).astype(x.dtype)

    def _apart(self, low: Array, high: Array, distance: Array) -> tuple[Any, Any]:
        """Return bounds, those that are equal moved apart by a distance to each side."""
        xp, equal = self.xp, low == high
        return xp.where(equal, low - distance, low), xp.where(equal, high + distance, high)

    def _added(self, size: int, places: Array, amounts: Array) -> Any:
        """Return the sums of the amounts at each of `size` places."""
        zeros = self.xp.zeros((size,), dtype=amounts.dtype)
        return self.capabilities.index_add(zeros, 0, places, amounts)

    # -- of points of several dimensions -----------------------------------------------------------

    def _check_points(
        self, points: Array, bins: int, weight: Array | None, *, has_edges: bool = False
    ) -> None:
        """Raise an error for points and weights that are incompatible."""
        kind = self.dtypes[points.dtype]
        if points.ndim < 2:
            raise RuntimeError(
                "torch.histogramdd: input tensor should have at least 2 dimensions. Give a point "
                "in each row."
            )
        if bins != points.shape[-1]:
            raise RuntimeError(
                "histogramdd: The size of bins must be equal to the innermost dimension of the "
                f"input. Give {points.shape[-1]}, not {bins}."
            )
        if kind not in (float32, float64) and not (has_edges and kind.is_floating_point):
            raise NotImplementedError(
                f"\"histogramdd\" not implemented for '{kind.scalar_name}'. Convert to float32 or "
                "float64."
            )
        if weight is None:
            return
        if weight.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                f"should have the same dtype, but got input({kind.scalar_name}), and weight"
                f"({self.dtypes[weight.dtype].scalar_name})"
            )
        if tuple(weight.shape) != tuple(points.shape[:-1]):
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                "the input tensor excluding its innermost dimension, but got input with shape "
                f"{list(points.shape)} and weight with shape {list(weight.shape)}"
            )

    def _check_edges(self, points: Any, edges: Sequence[Any]) -> None:
        """Raise an error for edges of bins that are invalid."""
        for dim, each in enumerate(edges):
            if each.ndim != 1:
                raise RuntimeError(
                    "torch.histogramdd: bins tensor should have one dimension, but got "
                    f"{each.ndim} dimensions in the bins tensor for dimension {dim}"
                )
            if not each.size:
                raise RuntimeError(
                    "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
                    f"elements in the bins tensor for dimension {dim}"
                )
            if each.dtype != points.dtype:
                raise RuntimeError(
                    "torch.histogramdd: input tensor and bins tensors should have the same dtype, "
                    f"but got input with dtype {self.dtypes[points.dtype].scalar_name} and bins "
                    f"for dimension {dim} with dtype {self.dtypes[each.dtype].scalar_name}"
                )
            check_bins(each.size - 1, dim)

    def _edges(
        self, points: Array, bins: Sequence[int], range: Sequence[float] | None
    ) -> list[Any]:
        """Return the edges of bins of one width for each dimension, from the least to the greatest
        element or in the given range.
        """
        xp, like = self.xp, self.numbers.like
        rows = xp.reshape(points, (-1, points.shape[-1]))
        if range is not None and len(range) != 2 * len(bins):
            raise RuntimeError(
                f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have "
                f"{2 * len(bins)} elements, but got {len(range)}"
            )
        edges = []
        for dim, count in enumerate(bins):
            check_bins(count, dim)
            if range is not None:
                low, high = like(rows, range[2 * dim]), like(rows, range[2 * dim + 1])
            elif rows.shape[0]:
                low, high = xp.amin(rows[:, dim]), xp.amax(rows[:, dim])
            else:
                low, high = like(rows, 0), like(rows, 1)
            self._check_range(low, high, dim)
            low, high = self._apart(low, high, like(rows, 0.5))
            step, place = (high - low) / like(rows, count), xp.arange(count + 1, dtype=rows.dtype)
            half = place < like(rows, (count + 1) // 2)
            edges.append(
                xp.where(half, low + step * place, high - step * (like(rows, count) - place))
            )
        return edges

    def _check_range(self, low: Array, high: Array, dim: int) -> None:
        """Raise an error for a range that is infinite or reversed, unless values are lazy."""
        if self.lazy:
            return
        least, most = float(low), float(high)
        if not (math.isfinite(least) and math.isfinite(most)):
            raise RuntimeError(
                f"torch.histogramdd: dimension {dim}'s range [{least:g}, {most:g}] is not finite. "
                "Give a range."
            )
        if least > most:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {least:g} max "
                f"{most:g} for dimension {dim}"
            )

    def _counted(self, points: Any, edges: Sequence[Any], weight: Any, density: bool) -> Any:
        """Return the weight of the points in each bin; as density, divided by its volume and the
        weight of all.
        """
        xp, wide = self.xp, self.precision.wide
        rows = xp.reshape(points, (-1, points.shape[-1]))
        place = xp.zeros((rows.shape[0],), dtype=xp.int64)
        inside = xp.ones((rows.shape[0],), dtype=xp.bool_)
        for dim, edge in enumerate(edges):
            edge, values = wide(edge), wide(rows[:, dim])
            inside = inside & (values >= edge[0]) & (values <= edge[-1])
            own = xp.searchsorted(edge, values, side="right") - 1
            own = xp.maximum(xp.minimum(own, edge.shape[0] - 2), 0)  # the last edge is in its bin
            place = place * (edge.shape[0] - 1) + own
        amounts = inside.astype(rows.dtype)
        if weight is not None:
            amounts = xp.where(inside, xp.reshape(weight, (-1,)), amounts)
        shape = tuple([edge.shape[0] - 1 for edge in edges])
        hist = xp.reshape(self._added(math.prod(shape), place, amounts), shape)
        if not density:
            return hist
        hist = hist / xp.sum(hist, axis=None)
        for dim, edge in enumerate(edges):
            width = xp.reshape(
                edge[1:] - edge[:-1], tuple([-1 if d == dim else 1 for d, _ in enumerate(shape)])
            )
            hist = hist / width
        return hist

    @operator("_histogramdd_bin_edges")
    def histogramdd_bin_edges(
        self,
        x: Array,
        bins: Sequence[int],
        *,
        range: Sequence[float] | None = None,
        weight: Array | None = None,
        density: bool = False,
    ) -> list[Any]:
        """Return the edges of the bins of each dimension."""
        self._check_points(x, len(bins), weight)
        return self._edges(x, bins, range)

    @operator("_histogramdd_from_bin_cts")
    def histogramdd_from_bin_cts(
        self,
        x: Array,
        bins: Sequence[int],
        *,
        range: Sequence[float] | None = None,
        weight: Array | None = None,
        density: bool = False,
    ) -> Any:
        """Return the histogram of points with so many bins in each dimension."""
        self._check_points(x, len(bins), weight)
        return self._counted(x, self._edges(x, bins, range), weight, density)

    @operator("_histogramdd_from_bin_tensors")
    def histogramdd_from_bin_tensors(
        self,
        x: Array,
        bins: Sequence[object],
        *,
        weight: Array | None = None,
        density: bool = False,
    ) -> Any:
        """Return the histogram of points with bins between the given edges."""
        self._check_points(x, len(bins), weight, has_edges=True)
        self._check_edges(x, bins)
        return self._counted(x, bins, weight, density)

    # -- of numbers --------------------------------------------------------------------------------

    @operator("histogram.bin_ct")
    def histogram(
        self,
        x: Array,
        bins: int = 100,
        *,
        range: Sequence[float] | None = None,
        weight: Array | None = None,
        density: bool = False,
    ) -> tuple[Any, Any]:
        """Return how many elements lie in each bin, or how much they weigh, and the edges."""
        points, weight = self._as_points(x, weight)
        self._check_points(points, 1, weight)
        edges = self._edges(points, [bins], range)
        return self._counted(points, edges, weight, density), edges[0]

    @operator("histogram.bins_tensor")
    def histogram_between(
        self, x: Array, bins: object, *, weight: Array | None = None, density: bool = False
    ) -> tuple[Any, Any]:
        """Return how many elements lie between each two edges, or how much they weigh, and the
        edges.
        """
        points, weight = self._as_points(x, weight)
        self._check_points(points, 1, weight, has_edges=True)
        self._check_edges(points, [bins])
        return self._counted(points, [bins], weight, density), self.capabilities.clone(bins)

    def _as_points(self, x: Array, weight: Any) -> tuple[Any, Any]:
        """Return elements as points of one dimension, and their weights as a vector."""
        return self.xp.reshape(x, (-1, 1)), None if weight is None else self.xp.reshape(
            weight, (-1,)
        )

    # -- of integers -------------------------------------------------------------------------------

    @operator("bincount")
    def bincount(self, x: Array, weights: Array | None = None, minlength: int = 0) -> Any:
        """Return how often each integer from 0 occurs, or the sum of its weights."""
        xp, kind = self.xp, self.dtypes[x.dtype]
        if kind not in _COUNTED:
            raise NotImplementedError(
                f"\"bincount_cpu\" not implemented for '{kind.scalar_name}'. Convert to int64."
            )
        if minlength < 0:
            raise RuntimeError(f"minlength should be >= 0, but is {minlength}.")
        if x.ndim != 1 or (x.size and not self.lazy and bool(xp.amin(x) < 0)):
            raise RuntimeError(
                "bincount only supports 1-d non-negative integral inputs. Flatten the tensor, and "
                "subtract its least element."
            )
        if weights is not None and tuple(weights.shape) != tuple(x.shape):
            raise RuntimeError(
                "weights should be 1-d and have the same length as input, but have the shape "
                f"{list(weights.shape)}, not {list(x.shape)}."
            )
        greatest = int(xp.amax(x)) if x.size and not self.lazy else -1
        check_size((max(minlength, greatest + 1),), 8)
        if not x.size:
            return xp.zeros((minlength,), dtype=xp.int64)
        if weights is None:
            return xp.bincount(x.astype(xp.int64), minlength=minlength).astype(xp.int64)
        single = self.native_dtypes[float32]
        wanted = single if weights.dtype == single else xp.float64
        amounts = self.precision.converted(weights, xp.float64)
        return xp.bincount(x.astype(xp.int64), weights=amounts, minlength=minlength).astype(wanted)
