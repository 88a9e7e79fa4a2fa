"""`nonzero` and `unravel_index` as users call them: places as rows, or one tensor for each
dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_dispatcher.missing import MISSING
from dovetail_kernel import bool as bool_
from dovetail_kernel import int64

from ..._generated import functions as aten
from ...calling.signatures import shown_plainly
from ...typing import Tensor
from ..data.from_data import tensor


@shown_plainly()
@overridable
def nonzero(input: Any = MISSING, *, as_tuple: bool = False, out: Any = None, **named: Any) -> Any:
    """Return the indices of the nonzero elements.

    Parameters
    ----------
    input
        A tensor of any shape and dtype.
    as_tuple
        Return one tensor of int64 for each dimension, to index with: ``x[nonzero(x,
        as_tuple=True)]``. A 0-dimensional tensor is then treated as a vector.
    out
        An int64 tensor to write the result into, if the result is a single tensor.
    **named
        NumPy's names of `input`: ``x``, ``x1``, ``a``.

    Returns
    -------
    Tensor
        int64 tensor of shape (number of elements, number of dimensions), with an index in each row.

    Raises
    ------
    RuntimeError
        For `out` together with `as_tuple`.
    """
    if not as_tuple:
        return aten.nonzero(input, out=out, **named)
    if out is not None:
        raise RuntimeError(
            "nonzero does not support the out kwarg when as_tuple is True. Leave out one of them."
        )
    return aten.nonzero_numpy(input, **named)


@overridable
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the places in a tensor of some shape of elements that are counted through it.

    Parameters
    ----------
    indices
        A tensor of integers, of any shape: numbers of elements in C order.
    shape
        The sizes of the tensor that they are counted through.

    Returns
    -------
    tuple of Tensor
        One tensor for each dimension, of the shape of `indices` and int64.

    Raises
    ------
    TypeError
        If `indices` are not integers, or `shape` holds something else than ints.
    ValueError
        For a negative size.
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is bool_:
        raise TypeError(
            f"expected 'indices' to be integer dtype, but got {indices.dtype}. Convert it."
        )
    if not isinstance(shape, int | list | tuple):
        raise TypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}. Give a tuple."
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(size)}. Give ints."
            )
        if size < 0:
            raise ValueError(
                f"'shape' cannot have negative values, but got {sizes}. Give sizes of 0 or more."
            )
    options: Any = {"dtype": int64, "device": indices.device}
    strides = tensor([max(prod(sizes[dim + 1 :]), 1) for dim in range(len(sizes))], **options)
    limits = tensor([max(size, 1) for size in sizes], **options)
    rest = aten.unsqueeze(aten.to(indices, int64), -1)
    return tuple(aten.unbind(aten.remainder(aten.floor_divide(rest, strides), limits), -1))
