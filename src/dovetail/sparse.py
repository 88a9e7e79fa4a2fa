"""Products of SciPy's sparse matrices and tensors, as ``torch.sparse``.

Tensors themselves are dense: the other names of that module are not here, and say so.
"""

from __future__ import annotations

import typing as _typing
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import Function
from dovetail_kernel import wrap

from .absent_names import names_of as _names_of

__all__ = ["addmm", "mm"]


class _Product(Function):
    """A constant sparse matrix times a dense one."""

    @staticmethod
    def forward(matrix: Any, dense: Any) -> Any:
        return wrap(matrix @ dense.detach().array, dense._backend)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.matrix = inputs[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _Product.apply(ctx.matrix.conj().T, grads[0])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _Product.apply(ctx.matrix, tangents[1])

    @staticmethod
    def vmap(info: Any, in_dims: Any, matrix: Any, dense: Any) -> Any:
        columns = dense.movedim(in_dims[1], -1)  # the batch stands behind the columns
        flat = _Product.apply(matrix, columns.reshape(columns.shape[0], -1))
        return flat.reshape(matrix.shape[0], *columns.shape[1:]), 2


def mm(mat1: Any, mat2: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a dense one, with the gradient of the dense one.

    Parameters
    ----------
    mat1
        A sparse matrix of SciPy, of shape ``(n, m)``, which is a constant; for a tensor on a CUDA
        device, one of CuPy.
    mat2
        A tensor of its dtype, of shape ``(m, p)``.

    Returns
    -------
    Tensor
        Of shape ``(n, p)``, dense.

    Raises
    ------
    TypeError
        If `mat1` is no sparse matrix, or `mat2` no tensor.
    RuntimeError
        If dtypes or shapes do not fit.

    Examples
    --------
    ::

        laplacian = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(9, 9))
        dovetail.sparse.mm(laplacian, x)
    """
    if not isinstance(mat2, Tensor):
        raise TypeError(f"mm(): argument 'mat2' must be Tensor, not {type(mat2).__name__}")
    if not hasattr(mat1, "nnz") or not hasattr(mat1, "tocsr"):
        raise TypeError(
            "mm(): argument 'mat1' must be a sparse matrix of SciPy, or of CuPy for a CUDA tensor, "
            f"not {type(mat1).__name__}. Use dovetail.mm for dense ones."
        )
    if mat2.dim() != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, mat1.shape))} and "
            f"{'x'.join(map(str, mat2.shape))}). mat2 is a matrix: a vector becomes one by "
            "x[:, None]."
        )
    if str(mat1.dtype) != str(mat2.dtype).rpartition(".")[2]:
        raise RuntimeError(
            "expected mat1 and mat2 to have the same dtype, but got: "
            f"{mat1.dtype} != {mat2.dtype}. Use mat1.astype(...) or mat2.to(...)."
        )
    package = type(mat1).__module__.partition(".")[0]
    if package == "scipy" and not mat2.is_cpu:
        raise RuntimeError(
            f"mm(): mat1 is SciPy's, in the memory of the host, and mat2 is on {mat2.device}. Use "
            "mat2.cpu(), or a matrix of cupyx.scipy.sparse."
        )
    result: Tensor = _Product.apply(mat1, mat2)
    return result


def addmm(mat: Tensor, mat1: Any, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
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
    result: Tensor = mat * beta + mm(mat1, mat2) * alpha
    return result


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
