"""`scan`: a loop over slices that carries a value along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_autograd.transforms import pytree

__all__ = ["scan"]


def scan(
    combine_fn: Callable[..., tuple[object, object]],
    init: object,
    xs: object,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Call ``carry, y = combine_fn(carry, x)`` for every slice `x` of `xs`.

    Parameters
    ----------
    combine_fn
        Returns the next carry, of the structure of `init`, and what is kept.
    init
        The first carry: a tensor, or containers of tensors.
    xs
        A tensor, or containers of tensors of one size along `dim`.
    dim
        The dimension whose slices are taken. Default: 0.
    reverse
        Whether the last slice comes first. Default: False.

    Returns
    -------
    (carry, ys)
        The last carry, and what was kept, stacked along `dim` in the order of the slices.

    Raises
    ------
    ValueError
        If `combine_fn` is not a function.
    RuntimeError
        If `xs` has no slices, or `combine_fn` returns something else than a carry of the structure
        of `init` and a value.
    """
    leaves, structure = slices_of(combine_fn, xs, dim)
    carried = pytree.flatten(init)[1]
    count = len(leaves[0])
    kept: list[list[Any]] = []
    kept_structure = None
    carry = init
    for place in reversed(range(count)) if reverse else range(count):
        made: Any = combine_fn(carry, pytree.unflatten(structure, [each[place] for each in leaves]))
        if not isinstance(made, tuple) or len(made) != 2 or pytree.flatten(made[0])[1] != carried:
            raise RuntimeError(
                f"combine_fn should return a carry of the structure {carried}, as `init`, and a "
                f"value, but got {made!r:.100}."
            )
        carry = made[0]
        values, kept_structure = pytree.flatten(made[1])
        kept.append(values)
    rows = kept[::-1] if reverse else kept
    stacked = [aten.stack(list(column), dim) for column in zip(*rows, strict=True)]
    assert kept_structure is not None  # there is a slice
    return carry, pytree.unflatten(kept_structure, stacked)


def slices_of(
    function: Callable[..., object], xs: object, dim: int
) -> tuple[list[Any], pytree.Structure]:
    """Return the tensors of `xs` with their slices along dimension 0, and its structure."""
    if not callable(function):
        raise ValueError(f"Combine_fn must be a callable, but got {function}")
    leaves, structure = pytree.flatten(xs)
    moved = [each.movedim(dim, 0) for each in leaves]
    sizes = sorted({each.size(0) for each in moved})
    if len(sizes) != 1 or sizes[0] == 0:
        raise RuntimeError(
            "All xs leaves must at least have one slice along `dim`, and as many as the others, "
            f"but they have {sizes}."
        )
    return moved, structure
