"""`softmax` and `log_softmax` of sparse tensors: of the stored elements."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import dtype as Dtype
from dovetail_kernel import sparse_coo

from .arithmetic import _dim
from .conversions import converted, summed
from .coordinate_tensor import CoordinateTensor, flat_places, refusal


def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """Return the softmax along a dimension of a sparse tensor.

    Elements that are not stored do not count, as if they were minus infinity.

    Parameters
    ----------
    input
        A sparse tensor in coordinate form.
    dim
        The dimension, sparse or dense.
    dtype
        What the elements are converted to first. Default: their own.

    Returns
    -------
    Tensor
        Sparse tensor with the indices of `input`.

    Raises
    ------
    IndexError
        If there is no such dimension.
    NotImplementedError
        For another layout, and for elements that are not floating-point numbers.
    """
    own, values, inner, groups = _parts("softmax", input, dim, dtype)
    if groups is None:
        return converted(own, aten.softmax(values, inner))
    powers = _shifted(values, groups).exp()
    return converted(own, powers / _sums(powers, groups))


def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax`, computed without loss of small values.

    Parameters
    ----------
    input, dim, dtype
        As for `softmax`.

    Returns
    -------
    Tensor
        Sparse tensor with the indices of `input`.

    Raises
    ------
    IndexError, NotImplementedError
        As by `softmax`.
    """
    own, values, inner, groups = _parts("log_softmax", input, dim, dtype)
    if groups is None:
        return converted(own, aten.log_softmax(values, inner))
    shifted = _shifted(values, groups)
    return converted(own, shifted - _sums(shifted.exp(), groups).log())


def _parts(
    name: str, input: Tensor, dim: int, dtype: Dtype | None
) -> tuple[CoordinateTensor, Tensor, int, Tensor | None]:
    """Return the coalesced tensor, its values, the dimension of these, and for a sparse dimension
    the number of the group of each value.
    """
    if not isinstance(input, CoordinateTensor) or input._form is not sparse_coo:
        raise refusal(f"sparse.{name}()")
    dim = _dim(input, dim)
    own = summed(input)
    values = own._elements if dtype is None else own._elements.to(dtype)
    if not values.is_floating_point():
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{values.dtype.scalar_name}'. Pass dtype=."
        )
    indices = own._coordinates
    if dim >= indices.shape[0]:
        return own, values, dim - indices.shape[0] + 1, None
    others = [each for each in range(indices.shape[0]) if each != dim]
    places = flat_places(indices[others], [own.shape[each] for each in others])
    return own, values, 0, aten.unique(places, return_inverse=True)[1]


def _shifted(values: Tensor, groups: Tensor) -> Tensor:
    """Return values less the largest of their group."""
    largest = aten.full_like(values.detach(), -float("inf"))
    places = groups.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
    largest = largest.scatter_reduce(0, places, values.detach(), "amax")
    shifted: Tensor = values - largest[groups]
    return shifted


def _sums(values: Tensor, groups: Tensor) -> Tensor:
    """Return for each value the sum of its group."""
    sums: Tensor = aten.zeros_like(values).index_add(0, groups, values)[groups]
    return sums
