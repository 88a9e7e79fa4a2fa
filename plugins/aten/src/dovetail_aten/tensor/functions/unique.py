"""`unique` and `unique_consecutive` as users call them: with as many results as were asked for."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable

from ..._generated import functions as aten
from ...typing import Tensor


@overridable
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements of `input`, or its distinct slices along `dim`.

    Parameters
    ----------
    input
        A tensor of real numbers or bools, of any shape.
    sorted
        Whether they have to be in order; they always are.
    return_inverse
        Return as well where each element, or slice, is among the distinct ones.
    return_counts
        Return as well how often each occurs.
    dim
        The dimension of slices; default: elements, in one dimension.

    Returns
    -------
    Tensor or tuple of Tensor
        The distinct ones; with `return_inverse` places of int64 in the shape of `input`, or of one
        dimension; with `return_counts` counts of int64. NaN is equal to nothing.

    Raises
    ------
    IndexError
        If the dimension does not exist.
    RuntimeError
        If slices have no elements.
    """
    if dim is None:
        made = aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        made = aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _chosen(made, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements of `input`, or its slices along `dim`, that differ from the one before.

    Parameters, results and errors as for `unique`.
    """
    made = aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return _chosen(made, return_inverse, return_counts)


def _chosen(made: Any, return_inverse: bool, return_counts: bool) -> Any:
    found, inverse, counts = made
    results = [found]
    if return_inverse:
        results.append(inverse)
    if return_counts:
        results.append(counts)
    return tuple(results) if len(results) > 1 else found
