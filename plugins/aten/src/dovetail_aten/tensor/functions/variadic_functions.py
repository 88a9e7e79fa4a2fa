"""Functions of several tensors as users call them: the tensors one by one, or in one sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import TensorBase

from ..._generated import functions as aten
from ...typing import Tensor


def _sequence(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors, if a single sequence of them was given."""
    one = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
    return tuple(tensors[0]) if one else tensors


def _one_or_several(tensors: tuple[Any, ...]) -> Any:
    """Return the only tensor, or several as a tuple."""
    is_one = len(tensors) == 1 and not isinstance(tensors[0], list | tuple)
    return tensors[0] if is_one else _sequence(tensors)


@overridable
def cartesian_prod(*tensors: Any) -> Any:
    """Return the Cartesian product of vectors, one combination per row.

    Parameters
    ----------
    *tensors
        Vectors of one dtype. The result has as many rows as the product of their lengths and a
        column per vector; a single vector is returned itself.

    Raises
    ------
    RuntimeError
        If there are no vectors, if one is not a vector, or if their dtypes differ.
    """
    return aten.cartesian_prod(list(_sequence(tensors)))


@overridable
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of matrices, in the order with the fewest multiplications.

    Parameters
    ----------
    *matrices
        Matrices with compatible shapes. `linalg.multi_dot` also accepts vectors.
    out
        A tensor to write the result into.

    Raises
    ------
    RuntimeError
        If there are no matrices, if one is not a matrix, or if two are incompatible.
    """
    return aten.chain_matmul(list(_sequence(matrices)), out=out)


@overridable
def tensordot(
    a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | TensorBase = 2, out: Any = None
) -> Any:
    """Return the sums of products of elements over pairs of dimensions.

    Parameters
    ----------
    a, b
        Tensors of one dtype.
    dims
        Number of last dimensions of `a` and first dimensions of `b` to sum over, or two lists of
        dimensions of equal length.
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


@overridable
def atleast_1d(*tensors: Any) -> Any:
    """Return a tensor with at least one dimension, or a tuple for several tensors.

    Parameters
    ----------
    *tensors
        Tensors of any shape, or one sequence of them. A number becomes a vector of one element.
    """
    return aten.atleast_1d(_one_or_several(tensors))


@overridable
def atleast_2d(*tensors: Any) -> Any:
    """Return a tensor with at least two dimensions, or a tuple for several tensors.

    Parameters
    ----------
    *tensors
        Tensors of any shape, or one sequence of them. A vector becomes a row.
    """
    return aten.atleast_2d(_one_or_several(tensors))


@overridable
def atleast_3d(*tensors: Any) -> Any:
    """Return a tensor with at least three dimensions, or a tuple for several tensors.

    Parameters
    ----------
    *tensors
        Tensors of any shape, or one sequence of them. ``(n,)`` becomes ``(1, n, 1)``, ``(m, n)``
        ``(m, n, 1)``.
    """
    return aten.atleast_3d(_one_or_several(tensors))


@overridable
def block_diag(*tensors: Any) -> Any:
    """Return a matrix with `tensors` along its diagonal, and zeros elsewhere.

    Parameters
    ----------
    *tensors
        Matrices; a vector counts as a row, a number as a matrix of one element. The result has the
        promoted dtype.

    Raises
    ------
    RuntimeError
        For a tensor of more dimensions.
    """
    return aten.block_diag(tensors)


@overridable
def broadcast_tensors(*tensors: Any) -> Any:
    """Return a tuple of views of the tensors, broadcast to their common shape.

    Parameters
    ----------
    *tensors
        Tensors whose shapes broadcast, or one sequence of them.

    Raises
    ------
    RuntimeError
        If the shapes do not broadcast.
    """
    return aten.broadcast_tensors(_sequence(tensors))


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Return the coordinate grids of vectors, as a tuple of views.

    Parameters
    ----------
    *tensors
        Vectors of n1, n2, … elements, of one dtype, or one sequence of them. A number counts as a
        vector.
    indexing
        ``"ij"``, the default: the results have the shape ``(n1, n2, …)``. ``"xy"``: the first two
        dimensions are swapped.

    Raises
    ------
    RuntimeError
        For no tensors, for tensors with more than one dimension or different dtypes, and for
        another `indexing`.
    """
    given = list(_sequence(tensors))
    if indexing is None:
        return aten.meshgrid(given)
    return aten.meshgrid(given, indexing=indexing)
