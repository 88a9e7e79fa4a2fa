"""View operators as `functionalize` keeps them: shown anew on another value, and put back into
one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dovetail_aten import Tensor
from dovetail_dispatcher import OpOverload, ops
from dovetail_kernel import dtype

from .functional_variants import (
    PARTIAL_VIEWS,
    copy_variant,
    functional_variant,
    scatter_variant,
)

__all__ = ["View", "laid_out"]


class View:
    """A view operator with its arguments other than the tensor, and which of its results is
    meant.

    `order` has the strides of what it shows if it is to be copied, else it is None: in the order
    of these the dimensions of the copy lie in memory, so that what is computed of it is laid out as
    what is computed of the view.
    """

    __slots__ = ("args", "kwargs", "op", "order", "position")

    def __init__(
        self,
        op: OpOverload,
        args: Any,
        kwargs: Any,
        position: int | None,
        order: Sequence[int] | None,
    ) -> None:
        self.op, self.args, self.kwargs, self.position, self.order = (
            op,
            args,
            kwargs,
            position,
            order,
        )

    def show(self, base: Tensor) -> Tensor:
        """Return what the view shows of `base`."""
        op = self.op if self.order is None else copy_variant(self.op)
        shown: Any = op(base, *self.args, **self.kwargs)
        return self.in_order(shown if self.position is None else shown[self.position])

    def in_order(self, shown: Tensor) -> Tensor:
        """Return what was shown, a copy with its dimensions in the order of the view's."""
        return shown if self.order is None else laid_out(shown, self.order)

    def put(self, base: Tensor, part: Tensor) -> Tensor:
        """Return `base` with what the view shows of it replaced by `part`."""
        name = self.op._opname
        inverse = _INVERSES.get(name)
        if inverse is not None:
            op, args = inverse(base, *self.args)
            whole = op if self.order is None else copy_variant(op)
            restored: Tensor = whole(part, *args)
            return restored
        op, args = self.op, self.args
        if self.position is not None:
            op, args = _part_of_several(base, self, part)
        if op._opname not in PARTIAL_VIEWS:
            raise RuntimeError(
                f"functionalize: a write to the result of {self.op} cannot be made functional: "
                "its elements may share "
                "memory. Write to a clone of it."
            )
        replaced: Tensor = scatter_variant(op)(base, part, *args, **self.kwargs)
        return replaced


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
    empty = _aten("new_empty_strided")(value, list(value.shape), steps)
    copied: Tensor = functional_variant(_aten("copy_"))(empty, value)
    return copied


def _aten(name: str, overload: str = "default") -> Any:
    return getattr(getattr(ops.aten, name), overload)


def _inverse_of_permutation(_base: Tensor, dims: Sequence[int]) -> tuple[Any, tuple[Any, ...]]:
    order = [dim % len(dims) for dim in dims]
    return _aten("permute"), ([order.index(dim) for dim in range(len(order))],)


def _reshape_back(base: Tensor, *_args: Any) -> tuple[Any, tuple[Any, ...]]:
    return _aten("view"), (list(base.shape),)


_INVERSES: Final[Mapping[str, Callable[..., tuple[Any, tuple[Any, ...]]]]] = {
    "alias": lambda _base: (_aten("alias"), ()),
    "detach": lambda _base: (_aten("alias"), ()),
    "permute": _inverse_of_permutation,
    "squeeze": _reshape_back,
    "t": lambda _base: (_aten("t"), ()),
    "transpose": lambda _base, dim0, dim1: (_aten("transpose", "int"), (dim0, dim1)),
    "unsqueeze": _reshape_back,
    "view": lambda *args: _back_from_view(*args),  # noqa: PLW0108 - which is defined below
    "view_as_complex": lambda _base: (_aten("view_as_real"), ()),
    "view_as_real": lambda _base: (_aten("view_as_complex"), ()),
}
"""View operators that show every element once, and how to get back from what they show."""


def _back_from_view(base: Tensor, shown: Any) -> tuple[Any, tuple[Any, ...]]:
    if isinstance(shown, dtype):
        return _aten("view", "dtype"), (base.dtype,)
    return _reshape_back(base)


def _part_of_several(base: Tensor, view: View, part: Tensor) -> tuple[OpOverload, tuple[Any, ...]]:
    """Return the operator with one result that shows what one result of `view` does."""
    position: int = view.position or 0
    if view.op._opname == "unbind":
        dim = view.args[0] if view.args else 0
        return _aten("select", "int"), (dim, position)
    dim = view.args[1] if len(view.args) > 1 else 0
    sizes = view.args[0]
    start = sizes * position if isinstance(sizes, int) else sum(sizes[:position])
    return _aten("slice", "Tensor"), (dim, start, start + part.shape[dim], 1)
