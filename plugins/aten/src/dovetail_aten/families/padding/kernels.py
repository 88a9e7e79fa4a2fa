"""Borders around arrays that are made of their own elements, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import int64

from ...kernel_support.family import Family, never_warns, operator, widened
from ...kernel_support.geometry.border_geometry import bordered_sizes, sources_of


class Borders(Family):
    """Padding with elements of the array, or cropping."""

    @operator("_bordered")
    @never_warns
    def bordered(self, x: Any, pad: Sequence[int], mode: str) -> Any:
        """Return a copy with `pad` elements before and after, for dimensions from the last."""
        first = x.ndim - len(pad) // 2
        for axis, places in enumerate(sources_of(x.shape, tuple(pad), mode), first):
            if places is not None:
                x = self.xp.take(x, self._index(places), axis=axis)
        return x

    @operator("_bordered_backward")
    @widened
    def bordered_backward(
        self, grad_output: Any, pad: Sequence[int], mode: str, input_size: Sequence[int]
    ) -> Any:
        """Return, for each element, the sum of the gradients of its copies."""
        sizes = bordered_sizes(grad_output.shape, pad, input_size)
        made, first = grad_output, len(sizes) - len(pad) // 2
        for axis, places in enumerate(sources_of(sizes, tuple(pad), mode), first):
            if places is not None:
                pair = 2 * (len(sizes) - 1 - axis)
                made = self._without_border(made, axis, places, pad[pair], pad[pair + 1])
        return self.ordered(made)

    def _without_border(
        self, x: Any, axis: int, places: Sequence[int], before: int, after: int
    ) -> Any:
        """Return what lies between the borders along an axis, plus the borders where they are
        copies; zeros for what was cut off.
        """
        start, end = max(before, 0), len(places) - max(after, 0)
        first, size = max(-before, 0), len(places) - before - after
        whole, shape = [slice(None)] * x.ndim, (*x.shape[:axis], size, *x.shape[axis + 1 :])

        def along(*span: int) -> tuple[slice, ...]:
            return (*whole[:axis], slice(*span), *whole[axis + 1 :])

        kept = along(first, first + end - start)
        made = self.capabilities.embed(x[along(start, end)], shape, kept, 0)
        for span in ((0, start), (end, len(places))):
            if span[0] < span[1]:
                index = self._index(places[slice(*span)])
                made = self.capabilities.index_add(made, axis, index, x[along(*span)])
        return made

    def _index(self, places: Sequence[int]) -> Any:
        return self.xp.asarray(places, dtype=self.native_dtypes[int64])
