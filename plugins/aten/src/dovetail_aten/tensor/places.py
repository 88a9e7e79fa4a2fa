"""`nonzero` as users call it: one tensor of places, or one for each dimension."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable

from .._generated import functions as aten

__all__ = ["nonzero"]


@overridable
def nonzero(input: Any, *, as_tuple: bool = False, out: Any = None) -> Any:
    """Return the places of the elements that are not zero.

    Parameters
    ----------
    input
        A tensor of any shape and dtype.
    as_tuple
        Return one tensor of int64 for each dimension, to index with: ``x[nonzero(x,
        as_tuple=True)]``. A tensor without dimensions counts as one of one element then.
    out
        A tensor of int64 to write the result into, where it is one tensor.

    Returns
    -------
    Tensor
        Of shape (number of places, number of dimensions) and int64: a place in each row.

    Raises
    ------
    RuntimeError
        For `out` together with `as_tuple`.
    """
    if not as_tuple:
        return aten.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError(
            "nonzero does not support the out kwarg when as_tuple is True. Leave out one of them."
        )
    return aten.nonzero_numpy(input)
