"""Functions that PyTorch has removed: calling one raises an error that names the replacement."""

from __future__ import annotations

from typing import Any, NoReturn

from ...typing import Tensor


def eig(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: use `linalg.eig`, which returns complex tensors."""
    _refuse("eig(A, eigenvectors=True)", "linalg.eig(A), whose results are complex")


def lstsq(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: use `linalg.lstsq`, whose arguments are in the opposite order."""
    _refuse("lstsq(B, A)", "linalg.lstsq(A, B), whose solution has no residuals behind it")


def matrix_rank(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: use `linalg.matrix_rank`, with `hermitian` instead of `symmetric`."""
    _refuse("matrix_rank(A, symmetric=True)", "linalg.matrix_rank(A, hermitian=True)")


def solve(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: use `linalg.solve`, whose arguments are in the opposite order."""
    _refuse("solve(B, A)", "linalg.solve(A, B), and linalg.lu_factor(A) for the factors")


def symeig(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: use `linalg.eigh`, which reads the lower triangle by default."""
    _refuse(
        "symeig(A, eigenvectors=True, upper=upper)",
        "linalg.eigh(A, UPLO='U' if upper else 'L'), or linalg.eigvalsh for the values alone",
    )


def _refuse(call: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"This function was deprecated since version 1.9 and is now removed. Write {instead} "
        f"instead of {call}."
    )
