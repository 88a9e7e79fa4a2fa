"""Recorded view operators for `functionalize`: replayed on another value, or written back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_aten.backends import ReplayedView
from dovetail_dispatcher import OpOverload, ops

from .functional_variants import copy_variant, functional_variant, scatter_variant


class View(ReplayedView):
    """A view operator with its arguments other than the tensor, and which of its results is
    meant.

    `order` has the strides of what it shows if it is to be copied, else it is None: in the order
    of these the dimensions of the copy lie in memory, so that what is computed of it is laid out as
    what is computed of the view.
    """

    __slots__ = ("order",)

    def __init__(
        self,
        op: OpOverload,
        args: Any,
        kwargs: Any,
        position: int | None,
        order: Sequence[int] | None,
    ) -> None:
        super().__init__(op, args, kwargs, position)
        self.order = order

    def show(self, base: Tensor) -> Tensor:
        """Return what the view shows of `base`."""
        shown: Any = self.whole(self.op)(base, *self.args, **self.kwargs)
        return self.in_order(shown if self.position is None else shown[self.position])

    def show_in_place(self, base: Tensor) -> None:
        """Let `base` itself show what the view shows of it."""
        writing = getattr(ops.aten, f"{self.op._opname}_")
        names = writing.overloads()
        overload = self.op._overloadname if self.op._overloadname in names else "default"
        getattr(writing, overload)(base, *self.args, **self.kwargs)

    def put(self, base: Tensor, part: Tensor) -> Tensor:
        """Return `base` with the elements of the view replaced by `part`. Raises RuntimeError if
        elements of the view share memory.
        """
        replaced: Tensor = self.with_part(base, part)
        return replaced

    def in_order(self, shown: Tensor) -> Tensor:
        """Return what was shown, a copy with its dimensions in the order of the view's."""
        return shown if self.order is None else laid_out(shown, self.order)

    def whole(self, op: OpOverload) -> Any:
        """Return the operator that is called for `op`: the one that copies, if that is wanted."""
        return op if self.order is None else copy_variant(op)

    def scattering(self, op: OpOverload) -> Any:
        """Return the operator that replaces what the view operator `op` shows."""
        return scatter_variant(op)

    def refusal(self) -> RuntimeError:
        """Return the error for a view that cannot be put back."""
        return RuntimeError(
            f"functionalize: a write to the result of {self.op} cannot be made functional: its "
            "elements may share memory. Write to a clone of it."
        )


def laid_out(value: Tensor, stride: Sequence[int]) -> Tensor:
    """Return `value` with its dimensions in memory in the order of `stride`, a copy without gaps
    where they lie otherwise.
    """
    # A dimension that was expanded lies by the one that follows it.
    places = list(stride)
    for dim in reversed(range(len(places) - 1)):
        places[dim] = places[dim] or places[dim + 1]
    steps, step = [0] * len(places), 1
    for dim in sorted(reversed(range(len(places))), key=places.__getitem__):
        steps[dim], step = step, step * max(value.shape[dim], 1)
    given = zip(value.shape, value.stride(), steps, strict=True)
    if not value.numel() or all([size < 2 or own == step for size, own, step in given]):
        return value
    empty = ops.aten.new_empty_strided.default(value, list(value.shape), steps)
    copied: Tensor = functional_variant(ops.aten.copy_.default)(empty, value)
    return copied
