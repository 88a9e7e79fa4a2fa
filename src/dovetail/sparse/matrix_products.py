"""Products of sparse tensors: rows are gathered by column index, multiplied by the values, and
added at the rows.

The products are composed of operators, so both operands have gradients.
"""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten import nn as _nn
from dovetail_dispatcher import ops, overridable
from dovetail_kernel import int64, sparse_coo, sparse_csr

from .arithmetic import turned
from .conversions import in_layout
from .coordinate_tensor import CoordinateTensor, coordinates_of, flat_places, handles, make, refusal


@handles(aten.mm, compressed=True)
def mm(input: Any, mat2: Any) -> Any:
    """Return the product of two matrices, at least one of which is sparse; if both are, the product
    is sparse.
    """
    _check_product("mm", input, mat2)
    if not isinstance(mat2, CoordinateTensor):
        return _sparse_by_dense(input, mat2)
    if not isinstance(input, CoordinateTensor):
        return _sparse_by_dense(turned(mat2), input.t()).t()
    return _sparse_by_sparse(input, mat2)


def _check_product(name: str, first: Any, second: Any) -> None:
    for each in (first, second):
        if not isinstance(each, Tensor):
            raise TypeError(f"{name}(): the operands must be Tensor, not {type(each).__name__}")
        if each.ndim != 2:
            raise RuntimeError(f"{name}: Expected 2-D tensors, but got a {each.ndim}-D tensor")
        if isinstance(each, CoordinateTensor) and each._coordinates.shape[0] != 2:
            raise refusal(
                f"{name}() of a tensor with {each._coordinates.shape[0]} sparse dimension"
            )
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({first.shape[0]}x{first.shape[1]} and "
            f"{second.shape[0]}x{second.shape[1]})"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"expected mat1 and mat2 to have the same dtype, but got: {first.dtype} != "
            f"{second.dtype}. Use .to(dtype)."
        )
    if first.device != second.device:
        raise RuntimeError(
            f"{name}(): expected all tensors to be on the same device, but found {first.device} "
            f"and {second.device}. Use .to(device)."
        )


def _sparse_by_dense(matrix: CoordinateTensor, dense: Tensor) -> Tensor:
    rows, columns = matrix._coordinates.unbind(0)
    parts = dense.index_select(0, columns) * matrix._elements.unsqueeze(1)
    product: Tensor = parts.new_zeros((matrix.shape[0], dense.shape[1])).index_add(0, rows, parts)
    return product


def _sparse_by_sparse(first: Any, second: Any) -> Any:
    """Return the sum over pairs of an element of `first` and one of `second` in the row that is its
    column.
    """
    layouts = {first._form, second._form}
    if sparse_coo in layouts and len(layouts) > 1:
        raise refusal(f"mm() of a tensor of layout {first._form} and one of {second._form}")
    second = coordinates_of(second).coalesce()  # its rows lie one behind the other
    rows, columns = first._coordinates.unbind(0)
    lengths = aten.bincount(second._coordinates[0], minlength=second.shape[0])
    starts = lengths.cumsum(0) - lengths
    partners = lengths.index_select(0, columns)
    left = aten.repeat_interleave(partners)  # the element of `first` in each pair
    begins = partners.cumsum(0) - partners
    nth = aten.arange(left.numel(), device=left.device) - begins.index_select(0, left)
    right = starts.index_select(0, columns).index_select(0, left) + nth
    values = first._elements.index_select(0, left) * second._elements.index_select(0, right)
    places = aten.stack([rows.index_select(0, left), second._coordinates[1].index_select(0, right)])
    product = make(places, values, (first.shape[0], second.shape[1]))
    return in_layout(product.coalesce(), sparse_coo if sparse_coo in layouts else sparse_csr)


@handles(aten.mv, compressed=True)
def mv(input: Any, vec: Any) -> Tensor:
    """Return the product of a sparse matrix and a vector."""
    if not isinstance(input, CoordinateTensor) or isinstance(vec, CoordinateTensor):
        raise refusal("mv() of a sparse vector")
    if vec.ndim != 1:
        raise RuntimeError(f"mv: two dim tensor 'vec' should be 1D, but got {vec.ndim}D")
    result: Tensor = mm(input, vec.unsqueeze(1)).squeeze(1)
    return result


@handles(aten.bmm)
def bmm(input: Any, mat2: Any) -> Tensor:
    """Return the products of a batch of sparse matrices and a batch of strided ones."""
    if not isinstance(input, CoordinateTensor) or isinstance(mat2, CoordinateTensor):
        raise refusal("bmm() whose second operand is sparse")
    if input.ndim != 3 or mat2.ndim != 3 or input._coordinates.shape[0] != 3:
        raise refusal("bmm() of anything but three sparse dimensions and three strided ones")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm(): Expected size for first two dimensions of batch2 tensor to be: "
            f"[{input.shape[0]}, {input.shape[2]}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    batch, height, width = input.shape
    places = input._coordinates  # the blocks of one matrix, along its diagonal
    first = flat_places(places[:2], (batch, height))
    second = flat_places(places[[0, 2]], (batch, width))
    blocks = make(aten.stack([first, second]), input._elements, (batch * height, batch * width))
    flat = mm(blocks, mat2.reshape(batch * width, mat2.shape[2]))
    result: Tensor = flat.reshape(batch, height, mat2.shape[2])
    return result


@handles(aten.matmul, compressed=True)
def matmul(input: Any, other: Any) -> Any:
    """Return the product of a sparse matrix and a vector or matrix, or of batches of them."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise TypeError("matmul(): both operands must be Tensor. Use dovetail.as_tensor.")
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 3 and other.ndim == 3:
        return bmm(input, other)
    if input.ndim == 1 and other.ndim == 2 and isinstance(other, CoordinateTensor):
        return mv(turned(other), input)
    return mm(input, other)


@handles(aten.addmm, compressed=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""
    product = mm(mat1, mat2)
    if alpha != 1:
        product = product * alpha
    if isinstance(input, CoordinateTensor) != isinstance(product, CoordinateTensor):
        raise refusal("addmm() of a sparse summand and a strided product, or the other way round")
    return (input if beta == 1 else input * beta) + product


_REDUCED = ops.aten._sparse_mm_reduce_impl


@handles(_REDUCED, _REDUCED.default, compressed=True, coordinates=False)
def mm_reduced(input: Any, other: Any, reduce: str) -> tuple[Tensor, Tensor]:
    """Return the product of a sparse matrix and a strided one whose terms are put together by
    `reduce`, and for extremes which stored element gave each; rows without elements are 0.
    """
    _check_product("sparse_mm_reduce", input, other)
    if input._form is not sparse_csr:
        raise RuntimeError("sparse_mm_reduce: expected a matrix of layout sparse_csr")
    nothing = input._coordinates.new_zeros(0)
    rows, columns = input._coordinates.unbind(0)
    height, width = input.shape[0], other.shape[1]
    if reduce in ("sum", "mean"):
        total = _sparse_by_dense(input, other)
        if reduce == "mean":
            count = aten.bincount(rows, minlength=height).clamp(min=1).unsqueeze(1)
            total = total / count.to(total.dtype)
        return total, nothing
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("amax", "amin"):
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    terms = other.index_select(0, columns) * input._elements.unsqueeze(1)
    place = rows.to(int64).unsqueeze(1).expand(terms.shape)
    zeros = terms.detach().new_zeros(height, width)
    best = zeros.scatter_reduce(0, place, terms.detach(), reduce, include_self=False)
    each = aten.arange(terms.shape[0], device=rows.device).unsqueeze(1).expand(terms.shape)
    none = terms.shape[0]
    hits = each.where(terms.detach() == best.gather(0, place), none)
    first = place.new_full((height, width), none).scatter_reduce(0, place, hits, "amin")
    padded = aten.cat([terms, terms.new_zeros(1, width)])
    return padded.gather(0, first), first


@handles(_nn.linear, compressed=True)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``input @ weight.T + bias``."""
    product = mm(input, weight.t())
    return product if bias is None else product + bias


@overridable
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices, the first of which may be sparse; see `mm`.

    Parameters
    ----------
    input
        Of shape ``(n, m)``, sparse or strided.
    mat2
        Of shape ``(m, p)`` and the same dtype.

    Returns
    -------
    Tensor
        Of shape ``(n, p)``, strided unless both are sparse. Both operands have gradients.
    """
    return aten.mm(input, mat2)


@overridable
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices, the first of which may be sparse: an older name of
    `spmm`.

    Parameters
    ----------
    input, mat2
        As for `spmm`.
    """
    return aten.mm(input, mat2)


@overridable
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse and a strided matrix as a sparse tensor.

    Parameters
    ----------
    input, mat
        As for `spmm`.
    """
    return _sparse_product(aten.mm(input, mat), 2)


@overridable
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a strided one as a sparse tensor whose rows are
    stored whole.

    Parameters
    ----------
    mat1, mat2
        As for `spmm`.
    """
    return _sparse_product(aten.mm(mat1, mat2), 1)


@overridable
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` as a sparse tensor.

    Parameters
    ----------
    input : Tensor
        Sparse, of shape ``(n, p)``.
    mat1, mat2 : Tensor
        A sparse matrix of shape ``(n, m)`` and a strided one of shape ``(m, p)``.
    beta, alpha : number, default 1
        Factors of the summand and of the product.

    Raises
    ------
    RuntimeError
        If `input` or `mat1` is strided.
    """
    return _sparse_sum(input, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_sum(
    input: Any, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    if not (isinstance(input, CoordinateTensor) and isinstance(mat1, CoordinateTensor)):
        raise RuntimeError("sspaddmm: input and mat1 are sparse tensors. Call to_sparse() on them.")
    total: Tensor = input * beta + _sparse_product(mm(mat1, mat2), 2) * alpha
    return total


def _sparse_product(product: Any, sparse_dim: int) -> Tensor:
    result: Tensor = product.to_sparse(sparse_dim)
    return result


handles(spmm, dsmm, compressed=True)(mm)
handles(smm)(lambda input, mat: mm(input, mat).to_sparse(2))
handles(hspmm)(lambda mat1, mat2: mm(mat1, mat2).to_sparse(1))
handles(sspaddmm)(_sparse_sum)

hsmm, saddmm = hspmm, sspaddmm  # older names
