"""Resampling of images along each dimension: by nearest neighbours, straight lines and cubics.

Every result is a weighted sum of a few elements along one dimension after the other, the taps: so
one text computes all of them, and its transpose their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail_kernel import float32, float64, uint8

from ....kernel_support.dims import check_size
from ....kernel_support.family import operator, widened
from ....typing import Array
from .resampling_taps import ResamplingTaps, Taps, TapsOf, cubic_around, tent

Sizes: TypeAlias = Sequence[int]
Scale: TypeAlias = float | None


class Upsampling(ResamplingTaps):
    """Images of another size. `output_size` has 1 to 3 numbers; so many dimensions of `x` come
    after those of the samples and the channels. `scales` are the factors that were asked for, or
    None: then they follow from the sizes.
    """

    @operator("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
    def nearest(self, x: Array, output_size: Sizes, *scales: Scale) -> Any:
        """Return for every place the element before the place in the image given."""
        return self._picked(x, output_size, self.nearest_taps(scales, 0.0))

    @operator("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
    def nearest_exact(self, x: Array, output_size: Sizes, *scales: Scale) -> Any:
        """Return for every place the element whose middle is nearest."""
        return self._picked(x, output_size, self.nearest_taps(scales, 0.5))

    @operator("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
    def linear(self, x: Array, output_size: Sizes, align_corners: bool, *scales: Scale) -> Any:
        """Return what lies on the straight lines between neighbours."""
        return self._smoothed(x, output_size, self.linear_taps(align_corners, scales))

    @operator("upsample_bicubic2d")
    def bicubic(self, x: Array, output_size: Sizes, align_corners: bool, *scales: Scale) -> Any:
        """Return what lies on the cubics through four neighbours along each dimension."""
        return self._smoothed(x, output_size, self.cubic_taps(align_corners, scales))

    @operator("_upsample_bilinear2d_aa")
    def bilinear_antialiased(
        self, x: Array, output_size: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return what `linear` does, over all elements that fall together where the image
        shrinks.
        """
        taps = self.antialiased_taps(align_corners, scales, 1, tent)
        return self._antialiased_image(x, output_size, taps)

    @operator("_upsample_bicubic2d_aa")
    def bicubic_antialiased(
        self, x: Array, output_size: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return what `bicubic` does, over all elements that fall together where the image
        shrinks.
        """
        taps = self.antialiased_taps(align_corners, scales, 2, cubic_around)
        return self._antialiased_image(x, output_size, taps)

    # -- gradients ---------------------------------------------------------------------------------

    @operator(
        "upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward"
    )
    def nearest_backward(self, grad: Array, output: Sizes, input: Sizes, *scales: Scale) -> Any:
        """Return the gradient of `nearest`."""
        return self._spread(grad, output, input, self.nearest_taps(scales, 0.0))

    @operator(
        "_upsample_nearest_exact1d_backward",
        "_upsample_nearest_exact2d_backward",
        "_upsample_nearest_exact3d_backward",
    )
    def nearest_exact_backward(
        self, grad: Array, output: Sizes, input: Sizes, *scales: Scale
    ) -> Any:
        """Return the gradient of `nearest_exact`."""
        return self._spread(grad, output, input, self.nearest_taps(scales, 0.5))

    @operator(
        "upsample_linear1d_backward",
        "upsample_bilinear2d_backward",
        "upsample_trilinear3d_backward",
    )
    def linear_backward(
        self, grad: Array, output: Sizes, input: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return the gradient of `linear`."""
        return self._spread(grad, output, input, self.linear_taps(align_corners, scales))

    @operator("upsample_bicubic2d_backward")
    def bicubic_backward(
        self, grad: Array, output: Sizes, input: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return the gradient of `bicubic`."""
        return self._spread(grad, output, input, self.cubic_taps(align_corners, scales))

    @operator("_upsample_bilinear2d_aa_backward")
    def bilinear_antialiased_backward(
        self, grad: Array, output: Sizes, input: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return the gradient of `bilinear_antialiased`."""
        self._refuse_halves(grad)
        taps = self.antialiased_taps(align_corners, scales, 1, tent)
        return self._spread(grad, output, input, taps)

    @operator("_upsample_bicubic2d_aa_backward")
    def bicubic_antialiased_backward(
        self, grad: Array, output: Sizes, input: Sizes, align_corners: bool, *scales: Scale
    ) -> Any:
        """Return the gradient of `bicubic_antialiased`."""
        self._refuse_halves(grad)
        taps = self.antialiased_taps(align_corners, scales, 2, cubic_around)
        return self._spread(grad, output, input, taps)

    # -- sums of taps ------------------------------------------------------------------------------

    def _picked(self, x: Array, output_size: Sizes, taps: TapsOf) -> Any:
        if self.dtypes[x.dtype] is not uint8:
            self.check_float("compute_indices_weights_nearest", x)
        return self._resampled(x, output_size, taps)

    def _smoothed(self, x: Array, output_size: Sizes, taps: TapsOf) -> Any:
        if self.dtypes[x.dtype] is not uint8:
            self.check_float("compute_indices_weights_linear", x)
            return self._resampled(x, output_size, taps)
        xp, single = self.xp, self.native_dtypes[float32]
        result = self._resampled(x.astype(single), output_size, taps)
        rounded = xp.floor(xp.add(result, self.number(0.5, single)))
        zero, most = self.number(0.0, single), self.number(255.0, single)
        return xp.minimum(xp.maximum(rounded, zero), most).astype(x.dtype)

    def _antialiased_image(self, x: Array, output_size: Sizes, taps: TapsOf) -> Any:
        self._refuse_halves(x)
        return self._smoothed(x, output_size, taps)

    def _refuse_halves(self, x: Array) -> None:
        """Raise an error for half precision, for which PyTorch has no kernel either."""
        if x.dtype in self.precision.halves:
            dtype = self.dtypes[x.dtype].scalar_name
            raise NotImplementedError(
                f"\"compute_index_ranges_weights\" not implemented for '{dtype}'. Convert to "
                "float32 first."
            )

    @widened
    def _resampled(self, x: Array, output_size: Sizes, taps: TapsOf) -> Any:
        """Return the image with the taps summed along each dimension, the last first."""
        check_upsampled(x.shape, output_size)
        for place in reversed(range(len(output_size))):
            axis = x.ndim - len(output_size) + place
            chosen = taps(place, x.shape[axis], output_size[place], self._wide(x))
            x = self._summed(x, axis, chosen)
        return self.ordered(x)

    def _summed(self, x: Array, axis: int, taps: Taps) -> Any:
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
    def _spread(self, grad: Array, output_size: Sizes, input_size: Sizes, taps: TapsOf) -> Any:
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

    def _along(self, weight: Array, axis: int, x: Array) -> Any:
        """Return weights of one dimension in the shape that meets that dimension of `x`."""
        return self.xp.reshape(
            weight.astype(x.dtype, copy=False), (-1,) + (1,) * (x.ndim - axis - 1)
        )

    def _wide(self, x: Array) -> Any:
        """Return the dtype in which places are computed: that of PyTorch, whose rounding decides
        which element a place falls on.
        """
        wide = self.dtypes[x.dtype] is float64
        return self.native_dtypes[float64 if wide else float32]


def check_upsampled(shape: Sequence[int], output_size: Sizes) -> None:
    """Raise an error for images and sizes that are incompatible. Raises RuntimeError for any other
    number of dimensions, nothing in them, or sizes that are not positive, or that no memory holds.
    """
    if not output_size:
        raise RuntimeError(
            f"It is expected output_size equals to {len(shape) - 2}, but got size 0. Give one for "
            "each dimension."
        )
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
    check_size((*shape[:2], *output_size), 8)


def check_upsampled_gradient(shape: Sequence[int], output_size: Sizes, input_size: Sizes) -> None:
    """Raise RuntimeError for a gradient without the shape of the result."""
    check_upsampled(input_size, output_size)
    wanted = [*input_size[:2], *output_size]
    if list(shape) != wanted:
        raise RuntimeError(
            f"Expected grad_output to have the shape {wanted} of the output, but got {list(shape)}."
        )
