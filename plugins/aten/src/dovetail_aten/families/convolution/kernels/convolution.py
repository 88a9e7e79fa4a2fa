"""Convolutions and their gradients: patches of the input, and products of matrices; or, where the
channels stay apart, sums over the places of the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ....kernel_support.family import operator, widened
from ....kernel_support.geometry.window_geometry import Window
from ....kernel_support.sliding_windows import SlidingWindows
from ....typing import Array
from .convolution_geometry import check_convolution_dtypes, convolution_of

FEW: Final = 4
"""How many channels out of one channel in are computed place by place: BLAS is faster for more."""


class Convolutions(SlidingWindows):
    """Convolutions in any number of dimensions, in groups, transposed or not.

    The three products between input, weight and result are linear in both of their factors. With
    x[c, p + k] the input under place k of the window at p::

        correlated  y[o, p] = sum of w[o, c, k] x[c, p + k]
        spread      x[c, q] = sum of w[o, c, k] y[o, p] where p + k = q
        weighed     w[o, c, k] = sum of y[o, p] x[c, p + k]

    Images and groups are the first dimensions in memory, as in input and result: each image and
    group is a product of matrices, without a permutation. For groups of one channel, each place of
    the window is an elementwise product.
    """

    @operator("convolution")
    def convolution(
        self,
        input: Array,
        weight: Array,
        bias: Array | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
    ) -> Any:
        """Return the cross-correlation of `input` with `weight`, plus `bias`; if transposed, the
        gradient of a convolution with respect to its input.
        """
        self._check_dtypes(input, weight, bias)
        windows, _ = convolution_of(
            input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
        )
        return self._convolved(input, weight, bias, windows, transposed, groups)

    @widened
    def _convolved(
        self,
        input: Any,
        weight: Any,
        bias: Any,
        windows: Sequence[Window],
        transposed: bool,
        groups: int,
    ) -> Any:
        combine = self._spread if transposed else self._correlated
        made = combine(input, weight, windows, groups)
        if bias is not None:
            made = self.xp.add(made, self.xp.reshape(bias, (-1, *[1] * len(windows))))
        return made

    @operator("convolution_backward")
    @widened
    def convolution_backward(
        self,
        grad_output: Array,
        input: Array,
        weight: Array,
        bias_sizes: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` selects."""
        windows, shape = convolution_of(
            input, weight, None, stride, padding, dilation, transposed, output_padding, groups
        )
        if tuple(grad_output.shape) != shape:
            raise RuntimeError(
                f"convolution_backward: the result of the convolution has shape {list(shape)}, but "
                f"its gradient has shape {list(grad_output.shape)}. Give a gradient of that shape."
            )
        needs_input, needs_weight, needs_bias = output_mask
        to_input = to_weight = to_bias = None
        if needs_input:
            combine = self._correlated if transposed else self._spread
            to_input = combine(grad_output, self._conj(weight), windows, groups)
        if needs_weight:
            left, right = self._conj(input), grad_output
            if transposed:
                left, right = right, left
            to_weight = self.xp.reshape(self._weighed(left, right, windows, groups), weight.shape)
        if needs_bias:
            dims = (0, *range(2, grad_output.ndim))
            to_bias = self.xp.sum(grad_output, axis=dims, dtype=grad_output.dtype)
        return to_input, to_weight, to_bias

    def _check_dtypes(self, input: Array, weight: Array, bias: Array | None) -> None:
        own = self.dtypes
        check_convolution_dtypes(
            own[input.dtype], own[weight.dtype], None if bias is None else own[bias.dtype]
        )

    def _conj(self, x: Array) -> Any:
        """Return the complex conjugate; of what is not complex itself."""
        return self.xp.conjugate(x) if x.dtype in self.precision.complex else x

    # -- the products ------------------------------------------------------------------------------

    def _correlated(self, x: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels out, *counts)``."""
        counts = [window.number for window in windows]
        if _is_apart(weight, groups):
            made = self._summed_over_places(x, weight, windows, groups)
        else:
            patches = self._matrices_of_patches(x, windows, groups)
            made = self._product(self._matrices_of_weight(weight, groups), patches)
        return self.xp.reshape(made, (x.shape[0], weight.shape[0], *counts))

    def _spread(self, y: Array, weight: Array, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels in, *sizes)``."""
        images, channels = y.shape[0], weight.shape[1]
        parts: Iterable[Any]
        if _is_apart(weight, groups):
            parts = self._products_with_places(y, weight, windows, groups)
        else:
            columns = self._product(
                turned(self._matrices_of_weight(weight, groups)),
                self._matrices_of_channels(y, groups),
            )
            counts = [window.number for window in windows]
            places = math.prod([window.kernel for window in windows])
            columns = self.xp.reshape(columns, (images, groups, channels, places, *counts))
            parts = [columns[:, :, :, place] for place in range(places)]
        folded = self._folded(parts, windows)
        return self.xp.reshape(folded, (images, groups * channels, *folded.shape[3:]))

    def _weighed(self, x: Any, y: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(groups, channels out of a group, channels in of a group * places)``."""
        channels = y.shape[1] // groups
        if x.shape[1] == groups and channels <= FEW:
            return self._weighed_by_places(x, y, windows, groups)
        patches = self._matrices_of_patches(x, windows, groups)
        results = self._matrices_of_channels(y, groups)
        if channels > results.shape[3]:  # the images side by side are smaller than their products
            return self._product(self._side_by_side(results), turned(self._side_by_side(patches)))
        return self.xp.sum(self._product(results, turned(patches)), axis=0, dtype=y.dtype)

    def _product(self, left: Array, right: Array) -> Any:
        """Return the products of matrices; of a column and a row without BLAS, which is no help."""
        if left.shape[-1] == 1:
            return self.xp.multiply(left, right)
        return self.xp.matmul(left, right)

    def _matrices_of_patches(self, x: Array, windows: Sequence[Window], groups: int) -> Any:
        """Return the patches as ``(images, groups, channels in * places, windows)``."""
        images, channels = x.shape[0], x.shape[1] // groups
        parted = self.xp.reshape(x, (images, groups, channels, *x.shape[2:]))
        patches = self._patches(parted, windows, 3)
        columns = math.prod([window.number for window in windows])
        return self.xp.reshape(patches, (images, groups, channels * patches.shape[3], columns))

    # -- groups of one channel ---------------------------------------------------------------------

    def _summed_over_places(
        self, x: Array, weight: Array, windows: Sequence[Window], groups: int
    ) -> Any:
        """Return ``(images, groups, channels out of a group, *counts)``."""
        parted = self.xp.reshape(x, (x.shape[0], groups, 1, *x.shape[2:]))
        slices = self._slices(self._padded(parted, windows), windows)
        weights = self._places_of_weight(weight, groups)
        return self._summed([(part, each) for part, each in zip(slices, weights, strict=True)])

    def _products_with_places(
        self, y: Array, weight: Array, windows: Sequence[Window], groups: int
    ) -> Iterator[Any]:
        """Yield ``(images, groups, 1, *counts)`` for each place of the window."""
        counts = [window.number for window in windows]
        parted = self.xp.reshape(y, (y.shape[0], groups, y.shape[1] // groups, *counts))
        for each in self._places_of_weight(weight, groups):
            product = self.xp.multiply(parted, each)
            if product.shape[2] > 1:
                product = self.xp.sum(product, axis=2, keepdims=True, dtype=y.dtype)
            yield product

    def _weighed_by_places(self, x: Array, y: Array, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(groups, channels out of a group, places)``."""
        parted = self.xp.reshape(x, (x.shape[0], groups, 1, *x.shape[2:]))
        counts = [window.number for window in windows]
        results = self.xp.reshape(y, (y.shape[0], groups, y.shape[1] // groups, *counts))
        dims = (0, *range(3, results.ndim))
        sums = [
            self.xp.sum(self.xp.multiply(results, part), axis=dims, dtype=y.dtype)
            for part in self._slices(self._padded(parted, windows), windows)
        ]
        return self.xp.stack(sums, axis=2)

    def _summed(self, factors: Sequence[tuple[object, object]]) -> Any:
        """Return the sum of products of elements."""
        first, *rest = factors
        made = self.xp.multiply(*first)
        for left, right in rest:
            made = self.xp.add(made, self.xp.multiply(left, right))
        return made

    def _matrices_of_weight(self, weight: Array, groups: int) -> Any:
        """Return the weight as ``(groups, channels out, channels in * places)``."""
        rows = weight.shape[0] // groups
        return self.xp.reshape(weight, (groups, rows, math.prod(weight.shape[1:])))

    def _places_of_weight(self, weight: Array, groups: int) -> list[Any]:
        """Return the weight of groups of one channel by places, beside ``(images, groups, channels,
        *counts)``.
        """
        matrices = self._matrices_of_weight(weight, groups)
        shape = (*matrices.shape[:2], *(1,) * (weight.ndim - 2))
        return [self.xp.reshape(matrices[:, :, place], shape) for place in range(matrices.shape[2])]

    def _matrices_of_channels(self, y: Array, groups: int) -> Any:
        """Return results as ``(images, groups, channels of a group, windows)``."""
        parted = (y.shape[0], groups, y.shape[1] // groups, math.prod(y.shape[2:]))
        return self.xp.reshape(y, parted)

    def _side_by_side(self, matrices: Array) -> Any:
        """Return the matrices of all images as one: ``(groups, rows, images * columns)``."""
        images, groups, rows, columns = matrices.shape
        return self.xp.reshape(matrices.transpose(1, 2, 0, 3), (groups, rows, images * columns))


def _is_apart(weight: Array, groups: int) -> bool:
    """Say whether each group is one channel, of which few are made."""
    return bool(weight.shape[1] == 1 and weight.shape[0] <= FEW * groups and groups > 1)


def turned(matrices: Array) -> Any:
    """Return the transposes of a stack of matrices."""
    return matrices.transpose(*range(matrices.ndim - 2), matrices.ndim - 1, matrices.ndim - 2)
