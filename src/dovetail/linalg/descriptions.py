"""What the functions of `dovetail.linalg` are: formula, shapes and errors, for ``help``.

A batch of matrices has the shape ``(*, m, n)``: ``*`` are any leading dimensions.
"""

from __future__ import annotations

from typing import Final

DESCRIPTIONS: Final[dict[str, str]] = {
    "cholesky": """Return the triangular factor L of ``A = L L^H``, or U of ``A = U^H U``.

    Parameters
    ----------
    A
        Symmetric or Hermitian positive-definite matrices, ``(*, n, n)``. One triangle is read.
    upper
        Return U. Default: False.
    out
        A tensor to write the result into.

    Raises
    ------
    LinAlgError
        For a matrix that is not positive-definite, with the order of the first leading minor.
    """,
    "cholesky_ex": """Return the triangular factor, and for each matrix an int32: 0, or the order of
    the first leading minor that is not positive-definite.

    Parameters
    ----------
    A, upper
        As for `cholesky`.
    check_errors
        Raise as `cholesky` does. Default: False.
    """,
    "cond": """Return condition numbers, ``norm(A, p) norm(inv(A), p)``.

    Parameters
    ----------
    A
        Matrices ``(*, m, n)``; for other norms than 2, -2 and None they are square.
    p
        The order of `matrix_norm`. None means 2: the ratio of the greatest and the least singular
        value. A singular matrix has the number infinity.
    """,
    "cross": """Return the cross products of vectors of three elements along `dim`.

    The operands, of one dtype and as many dimensions, broadcast. Default of `dim`: the last.
    """,
    "det": """Return the determinants of square matrices ``(*, n, n)``, of shape ``(*)``.

    The gradient is that of cofactors, and right for singular matrices too.
    """,
    "diagonal": """Return a view of the diagonals of matrices. Parameters as `dovetail.diagonal`,
    but that it is of the last two dimensions by default.
    """,
    "eig": """Return eigenvalues and eigenvectors of square matrices: ``A = V diag(L) V^-1``.

    Parameters
    ----------
    A
        Square matrices ``(*, n, n)``.

    Returns
    -------
    (eigenvalues, eigenvectors)
        Complex tensors ``(*, n)`` and ``(*, n, n)``, the vectors being columns of norm 1. Neither
        the order of eigenvalues nor the phases of vectors are determined; a gradient that depends
        on phases is refused, one of vectors with equal eigenvalues does not exist.

    Raises
    ------
    RuntimeError
        For infinite elements and NaN.
    """,
    "eigh": """Return eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices:
    ``A = V diag(L) V^H``.

    Parameters
    ----------
    A
        Matrices ``(*, n, n)``.
    UPLO
        Which triangle is read: ``"L"``, the default, or ``"U"``.

    Returns
    -------
    (eigenvalues, eigenvectors)
        A real tensor ``(*, n)``, and one of the dtype of `A` ``(*, n, n)`` whose columns are
        orthonormal.
    """,
    "eigvals": """Return the complex eigenvalues ``(*, n)`` of square matrices, in no order.""",
    "eigvalsh": """Return the real eigenvalues ``(*, n)`` of symmetric or Hermitian matrices,
    ascending. Parameters as for `eigh`. The gradient exists for equal eigenvalues too.
    """,
    "householder_product": """Return the first n columns of the product of Householder reflections
    ``I - tau v v^H``.

    Parameters
    ----------
    A
        ``(*, m, n)`` with m >= n: below its diagonal lie the vectors v, whose first element is 1.
    tau
        ``(*, k)`` with k <= n, as `dovetail.geqrf` gives it.
    """,
    "inv": """Return the inverses of square matrices ``(*, n, n)``.

    Raises
    ------
    LinAlgError
        For a singular matrix, with the place of the first zero in its elimination.
    """,
    "inv_ex": """Return the inverses, NaN for singular matrices, and for each an int32: 0, or the
    place of the first zero in its elimination. With `check_errors`, raise as `inv` does.
    """,
    "ldl_factor": """Return the factors of ``A = L D L^T``, or with `hermitian` ``L D L^H``, in one
    matrix, and pivots, as LAPACK has them: for `ldl_solve`.

    Parameters
    ----------
    A
        Symmetric or Hermitian matrices ``(*, n, n)``, definite or not.
    hermitian
        Whether complex matrices are Hermitian. Default: False.
    """,
    "ldl_factor_ex": """Return what `ldl_factor` does, and for each matrix an int32: 0, or the place
    of a zero in D.
    """,
    "ldl_solve": """Return X of ``A X = B`` for matrices of which `ldl_factor` gave `LD` and
    `pivots`.
    """,
    "lstsq": """Return the X of least ``norm(A X - B)`` and, among these, of least norm.

    Parameters
    ----------
    A
        Matrices ``(*, m, n)``.
    B
        ``(*, m, k)``, or vectors ``(*, m)``.
    rcond
        Singular values below `rcond` times the greatest count as zero. Default: the precision of
        the dtype times max(m, n).
    driver
        ``"gelsy"`` (the default), ``"gels"``, ``"gelsd"`` or ``"gelss"``. All find X by singular
        values; the first two do not return these, nor ``"gels"`` the rank.

    Returns
    -------
    (solution, residuals, rank, singular_values)
        ``residuals`` are the sums of squares of ``A X - B`` over rows, empty unless m > n and all
        matrices have full rank, and with ``"gelsy"``.
    """,
    "lu": """Return P, L and U of ``A = P L U`` for matrices ``(*, m, n)``: a permutation, a lower
    triangular factor with ones on its diagonal, ``(*, m, k)``, and an upper one, ``(*, k, n)``,
    with k = min(m, n).
    """,
    "lu_factor": """Return both triangular factors in one matrix, and the rows that were exchanged,
    counted from 1, int32: for `lu_solve` and `dovetail.lu_unpack`.

    Raises
    ------
    RuntimeError
        If U has a zero on its diagonal.
    """,
    "lu_factor_ex": """Return what `lu_factor` does, and for each matrix an int32: 0, or the place
    of a zero on the diagonal of U.
    """,
    "lu_solve": """Return X of ``A X = B`` for matrices of which `lu_factor` gave `LU` and `pivots`.

    Parameters
    ----------
    LU, pivots
        ``(*, n, n)`` and ``(*, n)``.
    B
        ``(*, n, k)``.
    left
        Whether X stands to the right of A; otherwise the equation is ``X A = B``. Default: True.
    adjoint
        Whether A^H stands in the place of A. Default: False.
    """,
    "matmul": """Return the matrix product, as `dovetail.matmul`.""",
    "matrix_exp": """Return the matrix exponentials ``sum(A^k / k!)`` of square matrices.""",
    "matrix_norm": """Return norms of matrices, over two dimensions.

    Parameters
    ----------
    A
        ``(*, m, n)``, of floating-point or complex dtype.
    ord
        ``"fro"`` (the default): the root of the sum of squares; ``"nuc"``: the sum of singular
        values; 2: the greatest of these; 1 and infinity: the greatest sum of absolute values of a
        column, or of a row; -2, -1 and minus infinity: the least.
    dim
        The two dimensions. Default: the last.
    keepdim
        Keep them with size 1. Default: False.
    dtype
        What to compute in. Default: that of `A`.
    """,
    "matrix_power": """Return square matrices ``(*, n, n)`` to the power of a whole number; a
    negative one is that of their inverses.
    """,
    "matrix_rank": """Return how many singular values are greater than ``max(atol, rtol s)``, s
    being the greatest, int64 of shape ``(*)``.

    Parameters
    ----------
    A
        Matrices ``(*, m, n)``.
    atol, rtol
        Numbers, or tensors of one for each matrix. Default: 0, and the precision of the dtype times
        max(m, n); `rtol` is 0 where `atol` is given.
    hermitian
        Whether the matrices are symmetric or Hermitian: then absolute values of eigenvalues count.
    """,
    "multi_dot": """Return the product of two or more matrices, in the order that takes the fewest
    multiplications. The first may be a row vector, the last a column vector.
    """,
    "norm": """Return norms of vectors or matrices.

    Parameters
    ----------
    A
        A tensor of floating-point or complex dtype.
    ord
        Default: 2, the root of the sum of squares over `dim`, of all elements. With a number, and
        for one dimension, as `vector_norm`; for two, and with a word, as `matrix_norm`.
    dim, keepdim, dtype
        As there.
    """,
    "pinv": """Return the pseudoinverses ``(*, n, m)`` of matrices ``(*, m, n)``: ``V diag(1/S)
    U^H``, singular values up to ``max(atol, rtol s)`` counting as zero, s being the greatest.

    Parameters as for `matrix_rank`. The gradient is that of a constant rank.
    """,
    "qr": """Return an orthonormal and an upper triangular factor, ``A = Q R``.

    Parameters
    ----------
    A
        Matrices ``(*, m, n)``.
    mode
        ``"reduced"``, the default: Q is ``(*, m, k)`` and R ``(*, k, n)`` with k = min(m, n);
        ``"complete"``: Q is ``(*, m, m)``, with a gradient if m <= n; ``"r"``: R alone, and no
        gradient.
    """,
    "slogdet": """Return signs and logarithms of absolute values of the determinants of square
    matrices: ``det = sign exp(logabsdet)``. For a singular one they are 0 and minus infinity.
    """,
    "solve": """Return X of ``A X = B``.

    Parameters
    ----------
    A
        Square matrices ``(*, n, n)``.
    B
        ``(*, n, k)``, or vectors ``(*, n)``: a tensor whose shape is that of `A` without its last
        dimension, or of one dimension.
    left
        Whether X stands to the right of A; otherwise the equation is ``X A = B``. Default: True.

    Raises
    ------
    LinAlgError
        For a singular matrix.
    """,
    "solve_ex": """Return what `solve` does, NaN for singular matrices, and for each an int32: 0, or
    the place of the first zero in its elimination.
    """,
    "solve_triangular": """Return X of ``A X = B`` for triangular matrices; where one is singular,
    elements are infinite or NaN.

    Parameters
    ----------
    A
        ``(*, n, n)``, of which one triangle is read.
    B
        ``(*, n, k)``.
    upper
        Which triangle.
    left
        Whether X stands to the right of A; otherwise the equation is ``X A = B``. Default: True.
    unitriangular
        Whether the diagonal is taken for ones. Default: False.
    """,
    "svd": """Return U, S and Vh of ``A = U diag(S) Vh``.

    Parameters
    ----------
    A
        Matrices ``(*, m, n)``.
    full_matrices
        Whether U and Vh are square, ``(*, m, m)`` and ``(*, n, n)``; otherwise they have the
        min(m, n) columns and rows that count. Default: True.
    driver
        For cuSOLVER; on the CPU None.

    Returns
    -------
    (U, S, Vh)
        S is real and descending. A gradient that depends on the phases of vectors is refused; one
        of vectors does not exist where two singular values are equal, and is infinite or NaN there.
        That of S alone exists always: use `svdvals` if you need no more.

    Raises
    ------
    LinAlgError
        For infinite elements and NaN.
    """,
    "svdvals": """Return the singular values ``(*, min(m, n))``, real and descending.""",
    "tensorinv": """Return the inverse of the map that `tensordot` makes of a tensor: the first
    `ind` dimensions are its rows, the others its columns, and the two products of sizes are equal.
    """,
    "tensorsolve": """Return X of ``tensordot(A, X, X.ndim) = B``. Dimensions `dims` of `A` are
    moved to its end first.
    """,
    "vander": """Return matrices ``(*, n, N)`` whose columns are the powers 0, 1, ... of vectors
    ``(*, n)``. Default of `N`: n.
    """,
    "vecdot": """Return the inner products ``sum(conj(x) y)`` of vectors along `dim`, default the
    last. The operands broadcast.
    """,
    "vector_norm": """Return norms of vectors, ``sum(abs(x)^ord)^(1/ord)``.

    Parameters
    ----------
    x
        A tensor of floating-point or complex dtype.
    ord
        A number. Infinity means the greatest absolute value, minus infinity the least, 0 the number
        of elements that are not zero. Default: 2.
    dim
        The dimensions to reduce. Default: all.
    keepdim
        Keep them with size 1. Default: False.
    dtype
        What to compute in. Default: that of `x`.
    """,
}
"""Docstrings by name."""
