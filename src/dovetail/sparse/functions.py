"""Functions of ``torch.sparse``: of sparse tensors, and of SciPy's sparse matrices."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import ops

from . import arithmetic, matrix_products, scipy_products
from .coordinate_tensor import CoordinateTensor


def mm(mat1: object, mat2: object, reduce: str | None = None) -> Tensor:
    """Return the product of two matrices, at least one of which is sparse.

    Parameters
    ----------
    mat1
        Of shape ``(n, m)``: a tensor; or a sparse matrix of SciPy, which is a constant, and for a
        tensor on a CUDA device one of CuPy.
    mat2
        A tensor of its dtype, of shape ``(m, p)``.
    reduce
        Reduction of the products for an element of the result, for `mat1` in compressed rows:
        "sum", "mean", "amax" or "amin". Default: "sum".

    Returns
    -------
    Tensor
        Of shape ``(n, p)``: strided, or sparse if both are. Tensors have gradients; a sparse tensor
        only at its stored elements.

    Raises
    ------
    TypeError
        If neither is sparse, or if one is not a tensor.
    RuntimeError
        If dtypes or shapes are incompatible.

    Examples
    --------
    ::

        adjacency = dovetail.sparse_coo_tensor(edges, weights, (nodes, nodes))
        dovetail.sparse.mm(adjacency, features)

        laplacian = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(9, 9))
        dovetail.sparse.mm(laplacian, x)
    """
    if reduce is not None:
        reduced: Tensor = ops.aten._sparse_mm_reduce_impl(mat1, mat2, reduce)[0]
        return reduced
    if isinstance(mat1, CoordinateTensor) or isinstance(mat2, CoordinateTensor):
        result: Tensor = matrix_products.mm(mat1, mat2)
        return result
    if not isinstance(mat2, Tensor):
        raise TypeError(f"mm(): argument 'mat2' must be Tensor, not {type(mat2).__name__}")
    if isinstance(mat1, Tensor):
        return addmm(mat2.new_zeros(mat1.shape[0], mat2.shape[-1]), mat1, mat2, beta=0)
    if not scipy_products.is_foreign(mat1):
        raise TypeError(
            "mm(): argument 'mat1' must be a sparse tensor, or a sparse matrix of SciPy, or of "
            f"CuPy for a CUDA tensor, not {type(mat1).__name__}. Use dovetail.mm for dense ones."
        )
    return scipy_products.product(mat1, mat2)


def addmm(
    mat: Tensor, mat1: object, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)`` of a sparse `mat1`; see `mm`.

    Parameters
    ----------
    mat
        A dense tensor whose shape broadcasts to that of the product.
    mat1, mat2
        As for `mm`.
    beta, alpha
        Factors. Default: 1.
    """
    if isinstance(mat1, Tensor) and not isinstance(mat1, CoordinateTensor):
        return ops.aten._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]
    return mat * beta + mm(mat1, mat2) * alpha


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Return the sum of all elements of a sparse tensor, or the sums along dimensions.

    Parameters
    ----------
    input
        A sparse or strided tensor.
    dim
        One dimension or several. Default: all.
    dtype
        Dtype of the sum. Default: the dtype of `input`; int64 for integers.

    Returns
    -------
    Tensor
        Sparse tensor if a sparse dimension remains, else strided.

    Raises
    ------
    IndexError
        For a missing dimension.
    """
    if not isinstance(input, CoordinateTensor):
        return aten.sum(input, dim, dtype=dtype)
    summed: Tensor = arithmetic.sum(input, dim, dtype=dtype)
    return summed
