"""View operators that are kept: shown anew on another value, and put back into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dovetail_aten.kernel_support.geometry.view_bounds import repeats_places
from dovetail_dispatcher import OpOverload, ops
from dovetail_kernel import TensorBase, dtype

PARTIAL_VIEWS: Final = ("select", "slice", "diagonal", "as_strided")
"""View operators whose results may leave out elements of their argument."""


class ReplayedView:
    """A view operator with its arguments except the tensor, and the number of its result."""

    __slots__ = ("args", "kwargs", "op", "position")

    def __init__(
        self, op: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], position: int | None
    ) -> None:
        self.op, self.args, self.kwargs, self.position = op, args, kwargs, position

    @property
    def shows_all(self) -> bool:
        """Whether the view contains every element once."""
        return self.op._opname in _INVERSES

    def show(self, base: Any) -> Any:
        """Return the view of `base`."""
        shown: Any = self.op(base, *self.args, **self.kwargs)
        return shown if self.position is None else shown[self.position]

    def put(self, base: Any, part: Any) -> Any:
        """Return a copy of `base` with the elements of the view replaced by `part`; contiguous if
        `base` is. Raises RuntimeError if elements of the view share memory.
        """
        made = self.with_part(base, part)
        return made.contiguous() if base.is_contiguous() else made

    def with_part(self, base: Any, part: Any) -> Any:
        """Return the same as `put`, with any order of strides. Raises the errors of `put`."""
        name = self.op._opname
        inverse = _INVERSES.get(name)
        if inverse is not None:
            undoing, given = inverse(base, *self.args)
            return self.whole(undoing)(part, *given)
        if name == "expand" and tuple(part.shape) == (1,) * (part.dim() - base.dim()) + tuple(
            base.shape
        ):
            return self.whole(_aten("view"))(part, list(base.shape))
        op, args = self.op, tuple(self.args)
        if self.position is not None:
            op, args = _part_of_several(base, self, part)
        if op._opname not in PARTIAL_VIEWS:
            if not part.numel():
                return base
            raise self.refusal()
        if name == "as_strided" and repeats_places(args[0], args[1]):
            raise self.refusal()
        return self.scattering(op)(base, part, *args, **self.kwargs)

    def whole(self, op: OpOverload) -> Any:
        """Return the operator that is called for `op`, whose views contain all elements."""
        return op

    def scattering(self, op: OpOverload) -> Any:
        """Return the operator that replaces the elements of the view operator `op`."""
        return _aten(f"{op._opname}_scatter")

    def refusal(self) -> RuntimeError:
        """Return the error for a view that cannot be written back."""
        return RuntimeError(
            "unsupported operation: more than one element of the written-to tensor, a result of "
            f"{self.op}, refers to a single memory location. Please clone() the tensor before "
            "performing the operation."
        )


def _aten(name: str, overload: str = "default") -> Any:
    return getattr(getattr(ops.aten, name), overload)


def _inverse_of_permutation(_base: object, dims: Sequence[int]) -> tuple[Any, tuple[Any, ...]]:
    order = [dim % len(dims) for dim in dims]
    return _aten("permute"), ([order.index(dim) for dim in range(len(order))],)


def _reshape_back(base: Any, *_args: Any) -> tuple[Any, tuple[Any, ...]]:
    return _aten("reshape"), (list(base.shape),)  # a new value may lie so that no view shows it


def _back_from_view(base: TensorBase, shown: object) -> tuple[Any, tuple[Any, ...]]:
    if isinstance(shown, dtype):
        return _aten("view", "dtype"), (base.dtype,)
    return _reshape_back(base)


_INVERSES: Final[Mapping[str, Callable[..., tuple[Any, tuple[Any, ...]]]]] = {
    "alias": lambda _base: (_aten("alias"), ()),
    "detach": lambda _base: (_aten("alias"), ()),
    "permute": _inverse_of_permutation,
    "squeeze": _reshape_back,
    "t": lambda _base: (_aten("t"), ()),
    "transpose": lambda _base, dim0, dim1: (_aten("transpose", "int"), (dim0, dim1)),
    "unsqueeze": _reshape_back,
    "view": _back_from_view,
    "view_as_complex": lambda _base: (_aten("view_as_real"), ()),
    "view_as_real": lambda _base: (_aten("view_as_complex"), ()),
}
"""View operators that show every element once, and how to get back from what they show."""


def _part_of_several(
    base: Any, view: ReplayedView, part: Any
) -> tuple[OpOverload, tuple[Any, ...]]:
    """Return the operator with one result that shows what one result of `view` does."""
    position: int = view.position or 0
    if view.op._opname == "unbind":
        dim = view.args[0] if view.args else 0
        return _aten("select", "int"), (dim, position)
    dim = view.args[1] if len(view.args) > 1 else 0
    sizes = view.args[0]
    start = sizes * position if isinstance(sizes, int) else sum(sizes[:position])
    return _aten("slice", "Tensor"), (dim, start, start + part.shape[dim], 1)
