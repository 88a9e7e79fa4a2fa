"""Makes einops accept tensors: ``import dovetail.utils.einops_backend``.

``einops.array_api`` accepts tensors without it. Einops finds subclasses of its backend class by the
name of the framework. Gradients flow through, because the functions are those of `dovetail`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

import dovetail_aten as aten
from dovetail_aten import Tensor

if TYPE_CHECKING:
    AbstractBackend: Any = object
else:
    AbstractBackend = import_module("einops._backends").AbstractBackend


class DovetailBackend(AbstractBackend):  # type: ignore[misc]
    """The tensor operations of einops."""

    framework_name = "dovetail"

    def is_appropriate_type(self, tensor: object) -> bool:
        """Return whether an object is a tensor."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: object) -> Tensor:
        """Convert a NumPy array to a tensor; floating-point arrays become a copy that requires
        grad.
        """
        made: Any = aten.tensor(np.asarray(x))
        result: Tensor = made.requires_grad_() if made.is_floating_point() else made
        return result

    def to_numpy(self, x: Tensor) -> Any:
        """Return the values of a tensor."""
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the integers from `start` up to `stop`."""
        return aten.arange(start, stop)

    def reduce(self, x: Tensor, operation: str, reduced_axes: Sequence[int]) -> Tensor:
        """Reduce a tensor along axes by ``min``, ``max``, ``sum``, ``mean``, …"""
        axes = tuple(reduced_axes)
        if operation in ("min", "max"):
            return (aten.amin if operation == "min" else aten.amax)(x, axes)
        if operation in ("sum", "mean"):
            return (aten.sum if operation == "sum" else aten.mean)(x, axes)
        if operation not in ("any", "all", "prod"):
            raise NotImplementedError(
                f"einops: unknown reduction {operation!r}. It is one of: min, max, sum, mean, any, "
                "all, prod."
            )
        of_one = getattr(aten, operation)
        for axis in sorted(axes, reverse=True):
            x = of_one(x, axis)
        return x

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Return a tensor with permuted axes."""
        return aten.permute(x, tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        """Return tensors stacked along a new first axis."""
        return aten.stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """Return a tensor with one more axis of one element."""
        return aten.unsqueeze(x, new_position)

    def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
        """Return a tensor repeated along new axes."""
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x, sizes[position] = self.add_axis(x, position), length
        return x.expand(sizes)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        """Return a tensor tiled along its axes."""
        return aten.tile(x, tuple(repeats))

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        """Return tensors joined along an axis."""
        return aten.cat(tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        """Return whether the dtype of a tensor is floating-point."""
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        """Return the sum of products for a pattern."""
        return aten.einsum(pattern, x)
