"""Resampling of images along each dimension: by nearest neighbours, straight lines and cubics.

Every result is a weighted sum of a few elements along one dimension after the other, the taps: so
one text computes all of them, and its transpose their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_kernel import float32, float64, uint8

from .family import Family, operator, widened

_ALL = slice(None)
_CUBIC = -0.75
"""Slope parameter of the cubic convolution (R. Keys, 1981), as PyTorch has it."""
_SMOOTH_CUBIC = -0.5
"""The same where the image is smoothed before it shrinks."""


class Taps(NamedTuple):
    """What each place of a result takes along one dimension.

    Attributes
    ----------
    indices
        Arrays of the places that are taken, one array per tap, as long as the result.
    weights
        By what they are multiplied, in the same order; None takes the only tap as it is.
    """

    indices: Sequence[Any]
    weights: Sequence[Any] | None


class Upsampling(Family):
    """Images of another size. `output_size` has 1 to 3 numbers; so many dimensions of `x` come
    after those of the samples and the channels. `scales` are the factors that were asked for, or
    None: then they follow from the sizes.
    """

    @operator("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
    def nearest(self, x: Any, output_size: Sequence[int], *scales: float | None) -> Any:
        """Return, for every place, the element before the place in the image given."""
        return self._picked(x, output_size, self._nearest(scales, 0.0))

    @operator("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
    def nearest_exact(self, x: Any, output_size: Sequence[int], *scales: float | None) -> Any:
        """Return, for every place, the element whose middle is nearest."""
        return self._picked(x, output_size, self._nearest(scales, 0.5))

    @operator("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
    def linear(
        self, x: Any, output_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> Any:
        """Return what lies on the straight lines between neighbours."""
        return self._smoothed(x, output_size, self._linear(align_corners, scales))

    @operator("upsample_bicubic2d")
    def bicubic(
        self, x: Any, output_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> Any:
        """Return what lies on the cubics through four neighbours along each dimension."""
        return self._smoothed(x, output_size, self._cubic(align_corners, scales))

    @operator("_upsample_bilinear2d_aa")
    def bilinear_antialiased(
        self, x: Any, output_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> Any:
        """Return what `linear` does, over all elements that fall together where the image
        shrinks.
        """
        taps = self._antialiased(align_corners, scales, 1, _tent)
        return self._antialiased_image(x, output_size, taps)

    @operator("_upsample_bicubic2d_aa")
    def bicubic_antialiased(
        self, x: Any, output_size: Sequence[int], align_corners: bool, *scales: float | None
    ) -> Any:
        """Return what `bicubic` does, over all elements that fall together where the image
        shrinks.
        """
        taps = self._antialiased(align_corners, scales, 2, _cubic_around)
        return self._antialiased_image(x, output_size, taps)

    # -- gradients ---------------------------------------------------------------------------------

    @operator(
        "upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward"
    )
    def nearest_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `nearest`."""
        return self._spread(grad_output, output_size, input_size, self._nearest(scales, 0.0))

    @operator(
        "_upsample_nearest_exact1d_backward",
        "_upsample_nearest_exact2d_backward",
        "_upsample_nearest_exact3d_backward",
    )
    def nearest_exact_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `nearest_exact`."""
        return self._spread(grad_output, output_size, input_size, self._nearest(scales, 0.5))

    @operator(
        "upsample_linear1d_backward",
        "upsample_bilinear2d_backward",
        "upsample_trilinear3d_backward",
    )
    def linear_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `linear`."""
        return self._spread(
            grad_output, output_size, input_size, self._linear(align_corners, scales)
        )

    @operator("upsample_bicubic2d_backward")
    def bicubic_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `bicubic`."""
        return self._spread(
            grad_output, output_size, input_size, self._cubic(align_corners, scales)
        )

    @operator("_upsample_bilinear2d_aa_backward")
    def bilinear_antialiased_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `bilinear_antialiased`."""
        taps = self._antialiased(align_corners, scales, 1, _tent)
        return self._spread(grad_output, output_size, input_size, taps)

    @operator("_upsample_bicubic2d_aa_backward")
    def bicubic_antialiased_backward(
        self,
        grad_output: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        *scales: float | None,
    ) -> Any:
        """Return the gradient of `bicubic_antialiased`."""
        taps = self._antialiased(align_corners, scales, 2, _cubic_around)
        return self._spread(grad_output, output_size, input_size, taps)

    # -- sums of taps ------------------------------------------------------------------------------

    def _picked(self, x: Any, output_size: Sequence[int], taps: _TapsOf) -> Any:
        if self.dtypes[x.dtype] is not uint8:
            self.check_float("compute_indices_weights_nearest", x)
        return self._resampled(x, output_size, taps)

    def _smoothed(self, x: Any, output_size: Sequence[int], taps: _TapsOf) -> Any:
        if self.dtypes[x.dtype] is not uint8:
            self.check_float("compute_indices_weights_linear", x)
            return self._resampled(x, output_size, taps)
        xp, single = self.xp, self.native_dtypes[float32]
        result = self._resampled(x.astype(single), output_size, taps)
        rounded = xp.floor(xp.add(result, self._number(0.5, single)))
        zero, most = self._number(0.0, single), self._number(255.0, single)
        return xp.minimum(xp.maximum(rounded, zero), most).astype(x.dtype)

    def _antialiased_image(self, x: Any, output_size: Sequence[int], taps: _TapsOf) -> Any:
        if x.dtype in self.precision.halves:
            dtype = self.dtypes[x.dtype].scalar_name
            raise NotImplementedError(
                f"\"compute_index_ranges_weights\" not implemented for '{dtype}'. Convert to "
                "float32 first."
            )
        return self._smoothed(x, output_size, taps)

    @widened
    def _resampled(self, x: Any, output_size: Sequence[int], taps: _TapsOf) -> Any:
        """Return the image with the taps summed along each dimension, the last first."""
        check_upsampled(x.shape, output_size)
        for place in reversed(range(len(output_size))):
            axis = x.ndim - len(output_size) + place
            chosen = taps(place, x.shape[axis], output_size[place], self._wide(x))
            x = self._summed(x, axis, chosen)
        return self.ordered(x)

    def _summed(self, x: Any, axis: int, taps: Taps) -> Any:
        xp = self.xp
        slices = [xp.take(x, index, axis=axis) for index in taps.indices]
        if taps.weights is None:
            return slices[0]
        total = None
        for part, weight in zip(slices, taps.weights, strict=True):
            product = xp.multiply(part, self._along(weight, axis, x))
            total = product if total is None else xp.add(total, product)
        return total

    @widened
    def _spread(
        self,
        grad: Any,
        output_size: Sequence[int],
        input_size: Sequence[int],
        taps: _TapsOf,
    ) -> Any:
        """Return what every element of the image gets back from the places that took it."""
        self.check_float("upsample_backward", grad)
        check_upsampled_gradient(grad.shape, output_size, input_size)
        for place in range(len(output_size)):
            axis = place + 2
            chosen = taps(place, input_size[axis], grad.shape[axis], self._wide(grad))
            shape = (*grad.shape[:axis], input_size[axis], *grad.shape[axis + 1 :])
            made = self.xp.zeros(shape, dtype=grad.dtype)
            for number, index in enumerate(chosen.indices):
                part = grad
                if chosen.weights is not None:
                    weight = self._along(chosen.weights[number], axis, grad)
                    part = self.xp.multiply(grad, weight)
                made = self.capabilities.index_add(made, axis, index, part)
            grad = made
        return self.ordered(grad)

    def _along(self, weight: Any, axis: int, x: Any) -> Any:
        """Return weights of one dimension in the shape that meets that dimension of `x`."""
        return weight.astype(x.dtype, copy=False).reshape((-1,) + (1,) * (x.ndim - axis - 1))

    def _wide(self, x: Any) -> Any:
        """Return the dtype in which places are computed: that of PyTorch, whose rounding decides
        which element a place falls on.
        """
        wide = self.dtypes[x.dtype] is float64
        return self.native_dtypes[float64 if wide else float32]

    # -- taps --------------------------------------------------------------------------------------

    def _nearest(self, scales: Sequence[float | None], shift: float) -> _TapsOf:
        def taps(place: int, size: int, length: int, dtype: Any) -> Taps:
            step = _step(size, length, scales[place])
            single = self.native_dtypes[float32]
            places = self.xp.arange(length, dtype=single)
            moved = self.xp.add(places, self._number(shift, single)) if shift else places
            found = self.xp.floor(self.xp.multiply(moved, self._number(step, single)))
            return Taps([self._clipped(found, size)], None)

        return taps

    def _linear(self, align_corners: bool, scales: Sequence[float | None]) -> _TapsOf:
        def taps(place: int, size: int, length: int, dtype: Any) -> Taps:
            xp = self.xp
            source = self._source(align_corners, size, length, scales[place], dtype)
            source = xp.maximum(source, self._number(0.0, dtype))
            low = xp.minimum(xp.floor(source), self._number(size - 1, dtype))
            after = xp.minimum(xp.subtract(source, low), self._number(1.0, dtype))
            before = xp.subtract(self._number(1.0, dtype), after)
            index = self._clipped(low, size)
            following = self._clipped(xp.add(low, self._number(1.0, dtype)), size)
            return Taps([index, following], [before, after])

        return taps

    def _cubic(self, align_corners: bool, scales: Sequence[float | None]) -> _TapsOf:
        def taps(place: int, size: int, length: int, dtype: Any) -> Taps:
            xp = self.xp
            source = self._source(align_corners, size, length, scales[place], dtype)
            low = xp.floor(source)
            after = xp.subtract(source, low)
            offsets = [-1.0, 0.0, 1.0, 2.0]
            indices = [
                self._clipped(xp.add(low, self._number(each, dtype)), size) for each in offsets
            ]
            weights = [
                _cubic(xp.absolute(xp.subtract(after, self._number(each, dtype))), xp, _CUBIC)
                for each in offsets
            ]
            return Taps(indices, weights)

        return taps

    def _antialiased(
        self,
        align_corners: bool,
        scales: Sequence[float | None],
        reach: int,
        bell: Callable[[Any, Any], Any],
    ) -> _TapsOf:
        """Return taps over all elements under a bell curve, which is as wide as `reach` elements of
        the image given, or of the result if that is smaller.
        """

        def taps(place: int, size: int, length: int, dtype: Any) -> Taps:
            xp = self.xp
            step = _step(size, length, scales[place], align_corners)
            width = max(step, 1.0)
            support = reach * width
            half = self._number(0.5, dtype)
            places = xp.arange(length, dtype=dtype)
            centers = xp.multiply(xp.add(places, half), self._number(step, dtype))
            zero, last = self._number(0.0, dtype), self._number(size, dtype)
            first = xp.trunc(xp.subtract(centers, self._number(support - 0.5, dtype)))
            first = xp.maximum(first, zero)
            stop = xp.trunc(xp.add(centers, self._number(support + 0.5, dtype)))
            stop = xp.minimum(stop, last)
            indices, weights = [], []
            for number in range(2 * math.ceil(support) + 1):
                taken = xp.add(first, self._number(float(number), dtype))
                distance = xp.add(xp.subtract(taken, centers), half)
                weight = bell(xp.multiply(distance, self._number(1.0 / width, dtype)), xp)
                weights.append(xp.where(xp.less(taken, stop), weight, zero))
                indices.append(self._clipped(xp.minimum(taken, xp.subtract(stop, half)), size))
            total = sum(weights[1:], start=weights[0])
            return Taps(indices, [xp.true_divide(each, total) for each in weights])

        return taps

    def _source(
        self, align_corners: bool, size: int, length: int, scale: float | None, dtype: Any
    ) -> Any:
        """Return where in the image given the places of the result lie."""
        xp = self.xp
        step = self._number(_step(size, length, scale, align_corners), dtype)
        places = xp.arange(length, dtype=dtype)
        if align_corners:
            return xp.multiply(places, step)
        half = self._number(0.5, dtype)
        return xp.subtract(xp.multiply(xp.add(places, half), step), half)

    def _number(self, value: float, dtype: Any) -> Any:
        return self.capabilities.number(value, dtype)

    def _clipped(self, places: Any, size: int) -> Any:
        """Return places as indices within the image."""
        xp = self.xp
        index = places.astype(xp.int64)
        low, high = self._number(0, xp.int64), self._number(size - 1, xp.int64)
        return xp.minimum(xp.maximum(index, low), high)


def check_upsampled(shape: Sequence[int], output_size: Sequence[int]) -> None:
    """Refuse images and sizes that do not fit together.

    Raises
    ------
    RuntimeError
        For another number of dimensions, nothing in them, or sizes that are not positive.
    """
    ndim = len(output_size) + 2
    if len(shape) != ndim:
        raise RuntimeError(
            f"It is expected input_size equals to {ndim}, but got size {len(shape)}. Give samples, "
            f"channels and {len(output_size)} more dimensions."
        )
    if min(*shape[2:], *output_size) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(shape[2:])} output {list(output_size)}. Give an image with something in it, "
            "and positive sizes."
        )
    if 0 in shape[1:]:
        raise RuntimeError(
            f"Non-empty {ndim}D data tensor expected but got a tensor with sizes {list(shape)}. "
            "Only the number of samples may be 0."
        )


def check_upsampled_gradient(
    shape: Sequence[int], output_size: Sequence[int], input_size: Sequence[int]
) -> None:
    """Refuse a gradient that has not the shape of the result, with a RuntimeError."""
    check_upsampled(input_size, output_size)
    wanted = [*input_size[:2], *output_size]
    if list(shape) != wanted:
        raise RuntimeError(
            f"Expected grad_output to have the shape {wanted} of the output, but got {list(shape)}."
        )


_TapsOf = Callable[[int, int, int, Any], Taps]
"""Taps of the dimension of a number, for a size, the length of the result, and a dtype."""


def _step(size: int, length: int, scale: float | None, align_corners: bool = False) -> float:
    """Return how far apart the places of the result lie in the image given."""
    if align_corners:
        return (size - 1) / (length - 1) if length > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / length


def _tent(distance: Any, xp: Any) -> Any:
    """Return ``max(1 - |distance|, 0)``."""
    return xp.maximum(1 - xp.absolute(distance), distance * 0)


def _cubic_around(distance: Any, xp: Any) -> Any:
    return _cubic(xp.absolute(distance), xp, _SMOOTH_CUBIC)


def _cubic(x: Any, xp: Any, a: float) -> Any:
    """Return the cubic convolution kernel at distances of 0 to 2 and beyond."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return xp.where(xp.less(x, 1), near, xp.where(xp.less(x, 2), far, x * 0))
