"""Checks of what is added to products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ...typing import Shaped


def check_expandable(array: Shaped, shape: Sequence[int]) -> None:
    """Raise an error for an addend that does not expand to the shape of the product.

    Raises
    ------
    RuntimeError
        Naming the first dimension that differs, from the last on.
    """
    lead = len(shape) - array.ndim
    for dim in range(array.ndim - 1, -1, -1):
        size = array.shape[dim]
        if lead >= 0 and size not in (1, shape[dim + lead]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[dim + lead]}) must match the existing "
                f"size ({size}) at "
                f"non-singleton dimension {dim + lead}.  Target sizes: {list(shape)}.  Tensor "
                f"sizes: {list(array.shape)}"
            )
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(shape)}) must be greater or equal to the "
            "number of dimensions in "
            f"the tensor ({array.ndim})"
        )
