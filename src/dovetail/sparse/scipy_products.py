"""Products of SciPy's sparse matrices and tensors."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import Function
from dovetail_kernel import wrap


class _Product(Function):
    """A constant sparse matrix times a dense one."""

    @staticmethod
    def forward(matrix: Any, dense: Any) -> Any:
        return wrap(matrix @ dense.detach().array, dense._backend)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: object) -> None:
        ctx.matrix = inputs[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _Product.apply(ctx.matrix.conj().T, grads[0])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _Product.apply(ctx.matrix, tangents[1])

    @staticmethod
    def vmap(info: object, in_dims: Any, matrix: Any, dense: Any) -> Any:
        columns = dense.movedim(in_dims[1], -1)  # the batch stands behind the columns
        flat = _Product.apply(matrix, columns.reshape(columns.shape[0], -1))
        return flat.reshape(matrix.shape[0], *columns.shape[1:]), 2


def is_foreign(matrix: object) -> bool:
    """Return whether `matrix` is a sparse matrix of SciPy or CuPy."""
    return hasattr(matrix, "nnz") and hasattr(matrix, "tocsr")


def product(mat1: Any, mat2: Tensor) -> Tensor:
    """Return the product of a sparse matrix of SciPy or CuPy and a dense tensor.

    Raises
    ------
    RuntimeError
        If dtypes, shapes or devices are incompatible.
    """
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
