"""The place of a view in the memory of its base, also of pairs of numbers seen as complex ones and
the reverse.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail_dispatcher.calls import hulls, views_of
from dovetail_kernel import TensorBase
from dovetail_kernel.signature import DTYPE_MASK

from . import engine_ops

_SAME: Final = 0
_PAIRS: Final = 1
_PARTS: Final = 2
_REPLAYED: Final = 3


class Place:
    """Sizes, strides and offset, in elements of the base, or in real numbers where either of the
    two is complex.

    Attributes
    ----------
    crossing
        Whether the view shows pairs of its real base as complex numbers, or the parts of its
        complex base as real ones.
    undone, views
        Where arrays cannot be written, and have no memory to lie in: the view operators that lead
        from the base to the view, and before them those by which the base shows all of what the
        view is of (`t_`), with what it is of.
    """

    __slots__ = ("crossing", "offset", "size", "stride", "undone", "views")

    def __init__(self, view: TensorBase, base: TensorBase, start: int = 0) -> None:
        """Take the place of `view` in the memory of `base`, `start` elements of the base from the
        first one on.
        """
        self.crossing = _SAME
        if not engine_ops.has_memory(view):
            self.crossing = _REPLAYED
            self.undone, self.views = _views_between(base, view)
            return
        self.size, self.stride, offset = (
            list(view.array.shape),
            list(view.stride()),
            view.storage_offset(),
        )
        if (view._signature ^ base._signature) & DTYPE_MASK:
            if view.is_complex():
                self.crossing = _PAIRS
                self.size.append(2)
                self.stride = [*[2 * stride for stride in self.stride], 1]
                offset *= 2
            else:
                self.crossing = _PARTS
                start *= 2
        self.offset = offset - start


def viewed(base: TensorBase, place: Place) -> TensorBase:
    """Return a view of `base` that shows what lies at `place`."""
    if place.crossing == _SAME:
        return _strided(base, place)
    if place.crossing == _REPLAYED:
        if not place.views and not place.undone:  # a view of all still has a node of its own
            return engine_ops.operator("alias", "default")(base)
        for view, hull in place.undone:
            base = view.put(hull, base)
        for view in place.views:
            base = view.show(base)
        return base
    if place.crossing == _PARTS:
        base = engine_ops.operator("view_as_real", "default")(base)
    geometry = (list(base.array.shape), list(base.stride()), base.storage_offset())
    if geometry != (place.size, place.stride, place.offset):
        base = _strided(base, place)
    return (
        engine_ops.operator("view_as_complex", "default")(base)
        if place.crossing == _PAIRS
        else base
    )


def _views_between(base: TensorBase, view: TensorBase) -> tuple[Any, Any]:
    """Return what leads from `base` to `view`, as `Place` has it. Raises RuntimeError if nothing
    tells: `view` was not made of `base` by view operators.
    """
    whole, part = views_of(base), views_of(view)
    common = 0
    if whole is not None and part is not None:
        while common < min(len(whole), len(part)) and whole[common] is part[common]:
            common += 1
    if whole is None or part is None or not all([each.shows_all for each in whole[common:]]):
        raise RuntimeError(
            "a write in place to a view cannot be differentiated: its arrays, of backend "
            f"{view._backend.name}, cannot be written, and no view operator made it of its base. "
            "Use the out-of-place operator."
        )
    undone = reversed([*zip(whole, hulls(base), strict=True)][common:])
    return tuple(undone), part[common:]


def _strided(base: TensorBase, place: Place) -> TensorBase:
    return engine_ops.operator("as_strided", "default")(
        base, place.size, place.stride, place.offset
    )
