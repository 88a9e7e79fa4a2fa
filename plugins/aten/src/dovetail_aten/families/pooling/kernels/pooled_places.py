"""What goes to the places that a pooling has found: gradients, and elements of the results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....kernel_support.family import Family, operator, widened
from ....typing import Array
from .pooling_geometry import check_pooled, check_unpooled


class PooledPlaces(Family):
    """Gradients of maxima, and unpooling."""

    @operator("max_pool2d_with_indices_backward")
    @widened
    def max_pool2d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of max_pool2d, whose indices are the last argument."""
        return self._gradient("max_pool2d_with_indices_backward", 2, grad_output, x, how[-1])

    @operator("max_pool3d_with_indices_backward")
    @widened
    def max_pool3d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of max_pool3d, whose indices are the last argument."""
        return self._gradient("max_pool3d_with_indices_backward", 3, grad_output, x, how[-1])

    @operator("adaptive_max_pool2d_backward")
    @widened
    def adaptive_max_pool2d_backward(self, grad_output: Array, x: Array, indices: Array) -> Any:
        """Return the gradient of adaptive_max_pool2d."""
        return self._gradient("adaptive_max_pool2d_backward", 2, grad_output, x, indices)

    @operator("adaptive_max_pool3d_backward")
    @widened
    def adaptive_max_pool3d_backward(self, grad_output: Array, x: Array, indices: Array) -> Any:
        """Return the gradient of adaptive_max_pool3d."""
        return self._gradient("adaptive_max_pool3d_backward", 3, grad_output, x, indices)

    @operator("fractional_max_pool2d_backward")
    @widened
    def fractional_max_pool2d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of fractional_max_pool2d, whose indices are the last argument."""
        return self._gradient("fractional_max_pool2d_backward", 2, grad_output, x, how[-1])

    @operator("fractional_max_pool3d_backward")
    @widened
    def fractional_max_pool3d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of fractional_max_pool3d, whose indices are the last argument."""
        return self._gradient("fractional_max_pool3d_backward", 3, grad_output, x, how[-1])

    @operator("max_unpool2d")
    def max_unpool2d(self, x: Array, indices: Array, output_size: Sequence[int]) -> Any:
        """Return zeros with the elements of `x` at `indices` of each image."""
        check_unpooled("max_unpool2d", 2, x, indices, output_size, self.dtypes[indices.dtype])
        return self._unpooled("max_unpool2d", x, indices, output_size)

    @operator("max_unpool3d")
    def max_unpool3d(
        self,
        x: Array,
        indices: Array,
        output_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
    ) -> Any:
        """Return zeros with the elements of `x` at `indices` of each image."""
        own = self.dtypes[indices.dtype]
        check_unpooled("max_unpool3d", 3, x, indices, output_size, own, stride, padding)
        return self._unpooled("max_unpool3d", x, indices, output_size)

    def _gradient(self, name: str, ndim: int, grad: Array, x: Array, indices: Array) -> Any:
        """Return the gradient of maxima at `indices` of images like `x`."""
        self._check_real(name, grad)
        check_pooled(name, grad.shape, (*x.shape[:-ndim], *grad.shape[-ndim:]), "the gradient")
        check_pooled(name, indices.shape, grad.shape, "indices")
        sizes = x.shape[-ndim:]
        self._check_places(indices, sizes)
        return self._at_places(grad, indices, sizes, True)

    def _check_real(self, name: str, x: Array) -> None:
        """Raise an error for anything except a real floating-point array. Because of the integer
        indices, its dtype is not checked before the kernel.
        """
        self.check_float(name, x)
        if x.dtype in self.precision.complex:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{self.dtypes[x.dtype].scalar_name}'. Pool the "
                "real and the imaginary part."
            )

    def _unpooled(self, name: str, x: Array, indices: Array, sizes: Sequence[int]) -> Any:
        self._check_real(name, x)
        self._check_places(indices, sizes)
        return self._at_places(x, indices, sizes, False)

    def _at_places(
        self, values: Array, indices: Array, sizes: Sequence[int], accumulate: bool
    ) -> Any:
        """Return zeros of some sizes with values at places of each image, or added there."""
        lead = values.shape[: values.ndim - len(sizes)]
        images, elements = math.prod(lead), math.prod(sizes)
        rows = (images, math.prod(values.shape[len(lead) :]))
        zeros = self.xp.zeros((images, elements), dtype=values.dtype)
        made = self.capabilities.scatter(
            zeros, 1, self.xp.reshape(indices, rows), self.xp.reshape(values, rows), accumulate
        )
        return self.xp.reshape(made, (*lead, *sizes))

    def _check_places(self, indices: Any, sizes: Sequence[int]) -> None:
        """Raise an error for indices outside an image."""
        if self.lazy or not indices.size:
            return
        least, most, limit = int(indices.min()), int(indices.max()), math.prod(sizes)
        if least < 0 or most >= limit:
            raise RuntimeError(
                f"Found an invalid max index: {least if least < 0 else most} (output volumes are "
                f"of size {'x'.join(map(str, sizes))})"
            )
