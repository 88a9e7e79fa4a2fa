"""Functions of several tensors as users call them: the tensors one by one, or in one sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import TensorBase

from ..._generated import functions as aten

__all__ = ["cartesian_prod", "chain_matmul", "tensordot"]


def _listed(tensors: Sequence[Any]) -> list[Any]:
    """Return tensors that were given one by one, or in one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        return list(tensors[0])
    return list(tensors)


@overridable
def cartesian_prod(*tensors: Any) -> Any:
    """Return all combinations of an element of each vector, one in each row.

    Parameters
    ----------
    *tensors
        Vectors of one dtype. The result has as many rows as the product of their lengths and as
        many columns as there are vectors; of one vector it is that vector.

    Raises
    ------
    RuntimeError
        If there are none, if one is no vector, or if their dtypes differ.
    """
    return aten.cartesian_prod(_listed(tensors))


@overridable
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    *matrices
        Tensors of two dimensions that fit one another. `linalg.multi_dot` takes vectors, too.
    out
        A tensor to write the result into.

    Raises
    ------
    RuntimeError
        If there are none, if one is no matrix, or if two do not fit.
    """
    return aten.chain_matmul(_listed(matrices), out=out)


@overridable
def tensordot(
    a: Any, b: Any, dims: int | Sequence[Sequence[int]] | TensorBase = 2, out: Any = None
) -> Any:
    """Return the sums of products of elements over pairs of dimensions.

    Parameters
    ----------
    a, b
        Tensors of one dtype.
    dims
        How many of the last dimensions of `a` and the first ones of `b` are summed, or two lists
        of as many dimensions of each.
    out
        A tensor to write the result into.

    Returns
    -------
    Tensor
        The other dimensions of `a`, then those of `b`.

    Raises
    ------
    RuntimeError
        If the sizes of a pair differ and neither is 1, or if there are too few dimensions.
    """
    if isinstance(dims, TensorBase):
        listed: Any = dims.tolist()  # type: ignore[attr-defined]
        dims = int(listed) if isinstance(listed, int) else listed
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first, second = [
            [each] if isinstance(each, int) else [int(dim) for dim in each] for each in dims
        ]
    return aten.tensordot(a, b, first, second, out=out)
