"""`lobpcg`: some of the greatest or smallest eigenvalues of a symmetric matrix, using only matrix
products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor, linalg
from dovetail_autograd import Function, no_grad
from dovetail_dispatcher import overridable
from dovetail_kernel import finfo


@overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of ``A v = B v e`` by conjugate gradients in blocks.

    Each iteration solves the problem in the subspace spanned by the current vectors, their
    residuals and the last changes.

    Parameters
    ----------
    A
        Symmetric matrices of shape ``(*, m, m)``, of a floating-point dtype.
    k
        Number of eigenvalues, at most m / 3. Default: the number of columns of `X`, or 1.
    B
        Symmetric positive definite matrices of that shape. Default: the identity.
    X
        Initial vectors of shape ``(*, m, n)``. Default: random numbers.
    n
        The size of the block without `X`. Default: `k`.
    iK
        Preconditioners (approximate inverses of `A`), by which residuals are multiplied.
    niter
        Maximum number of iterations; negative means no limit. Default: 1000.
    tol
        Tolerance for the residual relative to A and the eigenvalue. Default: the root of the
        dtype's ``eps``.
    largest
        Whether to return the greatest (default) or the smallest eigenvalues.
    method
        "ortho" or "basic", which are equivalent here: the basis is always orthonormal.
    tracker
        Must be None: trackers are not supported.
    ortho_iparams, ortho_fparams, ortho_bparams
        Accepted and ignored: they tune PyTorch's orthogonalization.

    Returns
    -------
    (Tensor, Tensor)
        Eigenvalues of shape ``(*, k)``, the greatest (or smallest) first, and vectors of shape
        ``(*, m, k)``, with ``V.mT @ B @ V`` the identity. Both have derivatives, if the eigenvalues
        differ.

    Raises
    ------
    ValueError
        If m is below 3 k, or `k` below 1.
    AssertionError, RuntimeError
        For incompatible shapes or dtypes.
    NotImplementedError
        For a `tracker`.
    """
    _check(A, B, method, tracker)
    block = k if n is None else n
    block = (1 if X is None else X.size(-1)) if block is None else block
    wanted = block if k is None else k
    rows = A.size(-1)
    if wanted < 1 or rows < 3 * wanted:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller "
            f"than 3 x the number of requested eigenpairs (={wanted}), which must be 1 or more. "
            "Use linalg.eigh."
        )
    start = aten.randn(*A.shape[:-1], block, dtype=A.dtype, device=A.device) if X is None else X
    limit = 1000 if niter is None or niter < 0 else niter
    enough = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    found = _Eigenpairs.apply(
        A, B, start, iK, wanted, limit, enough, largest is None or bool(largest)
    )
    values, vectors = found
    return values, vectors


def _check(A: Tensor, B: Tensor | None, method: str | None, tracker: object) -> None:
    if A.dim() < 2 or A.size(-1) != A.size(-2):
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if not A.is_floating_point() or (B is not None and A.dtype is not B.dtype):
        raise RuntimeError("lobpcg: A and B must be of one floating-point dtype. Convert them.")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method={method!r} should be 'ortho' or 'basic'")
    if tracker is not None:
        raise NotImplementedError("lobpcg: progress is not told to a tracker. Leave it out.")


class _Eigenpairs(Function):
    """The eigenpairs found, with their derivatives: backward is made of operators on what was
    given and found, so that it can be recorded.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Any, X: Tensor, iK: Any, *options: Any) -> Any:
        batch = A.shape[:-2]
        matrices, starts = (each.reshape(-1, *each.shape[-2:]) for each in (A, X))
        metrics, preconditioners = (
            [None] * len(matrices) if each is None else each.reshape(-1, *each.shape[-2:])
            for each in (B, iK)
        )
        problems: Any = zip(matrices, metrics, starts, preconditioners, strict=True)
        pairs = [_solve(*problem, *options) for problem in problems]
        values = aten.stack([each for each, _ in pairs]).reshape(*batch, -1)
        vectors = aten.stack([each for _, each in pairs])
        vectors = vectors.reshape(*batch, *vectors.shape[-2:])
        ctx.save_for_backward(A, B, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, g_values: Any, g_vectors: Any) -> Any:
        A, B, values, vectors = ctx.saved_tensors
        identity = aten.eye(A.size(-1), dtype=A.dtype, device=A.device)
        metric = identity if B is None else B
        in_A, in_B = aten.zeros_like(A), aten.zeros_like(A)
        for place in range(values.size(-1)):
            value, v = values[..., place, None, None], vectors[..., place, None]
            g_value, g = g_values[..., place, None, None], g_vectors[..., place, None]
            # The change of v is that of the residual, by the inverse of A - eB beside v itself.
            beside = identity - v @ (v.mT @ metric)
            moved = beside @ (linalg.pinv(A - value * metric, hermitian=True) @ (beside.mT @ g))
            part = g_value * (v @ v.mT) - moved @ v.mT
            in_A = in_A + part
            in_B = in_B - value * part - 0.5 * (v.mT @ g) * (v @ v.mT)
        in_A, in_B = ((each + each.mT) / 2 for each in (in_A, in_B))
        return in_A, (None if B is None else in_B), *([None] * 6)


@no_grad()
def _solve(
    A: Tensor, B: object, X: Tensor, iK: object, k: int, niter: int, tol: float, largest: bool
) -> tuple[Tensor, Tensor]:
    """Return the eigenpairs of one matrix."""
    sign = -1.0 if largest else 1.0
    size = linalg.matrix_norm(A)
    values, X = _best(A, B, X, X.size(-1), sign)
    last = X[:, :0]
    for _ in range(niter):
        residual = A @ X - (X if B is None else B @ X) * values
        scale = (size + values.abs()) * linalg.vector_norm(X, dim=0)
        if bool((linalg.vector_norm(residual, dim=0) <= tol * scale)[:k].all()):
            break
        towards = residual if iK is None else iK @ residual
        values, better = _best(A, B, aten.cat([X, towards, last], dim=1), X.size(-1), sign)
        shared = X.mT @ (better if B is None else B @ better)
        last, X = better - X @ shared, better
    return values[:k], X[:, :k]


def _best(A: Tensor, B: object, S: Tensor, count: int, sign: float) -> tuple[Tensor, Tensor]:
    """Return the best eigenpairs in the span of the columns of `S`."""
    S = S / linalg.vector_norm(S, dim=0).clamp(min=finfo(S.dtype).tiny)
    for _ in range(2):  # once more, since rounding is as great as the smallest direction
        sizes, turns = linalg.eigh(S.mT @ (S if B is None else B @ S))
        kept = sizes > sizes[-1] * S.size(1) * finfo(S.dtype).eps
        S = S @ (turns[:, kept] / sizes[kept].sqrt())
    values, turns = linalg.eigh(sign * (S.mT @ (A @ S)))
    return sign * values[:count], S @ turns[:, :count]
