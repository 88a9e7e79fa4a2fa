"""Convolutions and their gradients: patches of the input, and one product of matrices per group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .convolution_geometry import check_convolution_dtypes, convolution_of
from .family import operator, widened
from .sliding_windows import SlidingWindows
from .window_geometry import Window


class Convolutions(SlidingWindows):
    """Convolutions in any number of dimensions, in groups, transposed or not.

    The three products between input, weight and result are linear in both of their factors. With
    x[c, p + k] the input under place k of the window at p::

        correlated  y[o, p] = sum of w[o, c, k] x[c, p + k]
        spread      x[c, q] = sum of w[o, c, k] y[o, p] where p + k = q
        weighed     w[o, c, k] = sum of y[o, p] x[c, p + k]

    In memory, channels come first and images next: then a group is one product of matrices.
    """

    @operator("convolution")
    def convolution(
        self,
        input: Any,
        weight: Any,
        bias: Any,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
    ) -> Any:
        """Return the cross-correlation of `input` with `weight`, plus `bias`; transposed: what is
        its gradient with respect to the input, taken for an operator of its own.
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
            made = self.xp.add(made, bias.reshape(-1, *[1] * len(windows)))
        return self.ordered(made)

    @operator("convolution_backward")
    @widened
    def convolution_backward(
        self,
        grad_output: Any,
        input: Any,
        weight: Any,
        bias_sizes: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
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
            to_input = self.ordered(combine(grad_output, self._conj(weight), windows, groups))
        if needs_weight:
            left, right = self._conj(input), grad_output
            if transposed:
                left, right = right, left
            to_weight = self._weighed(left, right, windows, groups).reshape(weight.shape)
        if needs_bias:
            dims = (0, *range(2, grad_output.ndim))
            to_bias = self.xp.sum(grad_output, axis=dims, dtype=grad_output.dtype)
        return to_input, to_weight, to_bias

    def _check_dtypes(self, input: Any, weight: Any, bias: Any) -> None:
        own = self.dtypes
        check_convolution_dtypes(
            own[input.dtype], own[weight.dtype], None if bias is None else own[bias.dtype]
        )

    def _conj(self, x: Any) -> Any:
        """Return the complex conjugate; of what is not complex itself."""
        return self.xp.conjugate(x) if x.dtype in self.precision.complex else x

    # -- the products ------------------------------------------------------------------------------

    def _correlated(self, x: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels out, *counts)``."""
        patches = self._matrix_of_patches(x, windows, groups)
        made = self._product(self._matrix_of_weight(weight, groups), patches)
        return _images_first(made, x.shape[0], [window.number for window in windows])

    def _spread(self, y: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels in, *sizes)``."""
        matrix = self._matrix_of_weight(weight, groups)
        columns = self._product(_turned(matrix), _channels_first(y, groups))
        images, counts = y.shape[0], [window.number for window in windows]
        places = math.prod([window.kernel for window in windows])
        channels = weight.shape[1]
        columns = columns.reshape(groups, channels, places, images, *counts)
        folded = self._folded(_places_after_images(columns), windows)
        made = folded.reshape(groups * channels, images, *folded.shape[3:])
        return made.transpose(1, 0, *range(2, made.ndim))

    def _weighed(self, x: Any, y: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(groups, channels out of a group, channels in of a group * places)``."""
        patches = self._matrix_of_patches(x, windows, groups)
        return self._product(_channels_first(y, groups), _turned(patches))

    def _product(self, left: Any, right: Any) -> Any:
        """Return the products of matrices; of a column and a row without BLAS, which is no help."""
        if left.shape[2] == 1:
            return self.xp.multiply(left, right)
        return self.xp.matmul(left, right)

    def _matrix_of_weight(self, weight: Any, groups: int) -> Any:
        """Return the weight as ``(groups, channels out, channels in * places)``."""
        rows = weight.shape[0] // groups
        return weight.reshape(groups, rows, math.prod(weight.shape[1:]))

    def _matrix_of_patches(self, x: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return the patches as ``(groups, channels in * places, images * windows)``."""
        images, channels = x.shape[0], x.shape[1] // groups
        parted = x.reshape(images, groups, channels, *x.shape[2:])
        patches = self._patches(parted.transpose(1, 2, 0, *range(3, parted.ndim)), windows, 2)
        columns = images * math.prod([window.number for window in windows])
        return patches.reshape(groups, channels * patches.shape[2], columns)


def _turned(matrices: Any) -> Any:
    """Return the transposes of a stack of matrices."""
    return matrices.transpose(0, 2, 1)


def _channels_first(y: Any, groups: int) -> Any:
    """Return results as ``(groups, channels of a group, images * windows)``."""
    images, channels = y.shape[0], y.shape[1] // groups
    parted = y.reshape(images, groups, channels, math.prod(y.shape[2:]))
    return parted.transpose(1, 2, 0, 3).reshape(groups, channels, images * parted.shape[3])


def _images_first(matrices: Any, images: int, counts: Sequence[int]) -> Any:
    """Return ``(images, channels, *counts)`` of a product with images among its columns."""
    channels = matrices.shape[0] * matrices.shape[1]
    made = matrices.reshape(channels, images, *counts)
    return made.transpose(1, 0, *range(2, made.ndim))


def _places_after_images(columns: Any) -> Any:
    """Return ``(groups, channels, images, places, *counts)`` of places before images."""
    return columns.transpose(0, 1, 3, 2, *range(4, columns.ndim))
