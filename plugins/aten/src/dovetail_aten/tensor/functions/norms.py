"""`norm`, with PyTorch's defaults: the operators of that name take the order of the norm first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import dtype

from ..._generated import functions as aten


@overridable
def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Any:
    """Return a vector norm of `input`, or the nuclear norm of matrices.

    Parameters
    ----------
    input
        A tensor of floating-point or complex dtype, of any shape.
    p
        The order; ``"fro"`` and None mean 2, ``"nuc"`` the sum of the singular values.
    dim
        The dimensions to reduce; default: all, or the last two for the nuclear norm.
    keepdim
        Keep the reduced dimensions with size 1.
    out
        A tensor to write the result into.
    dtype
        The dtype to compute in; default: that of `input`.

    Raises
    ------
    RuntimeError
        For an integer tensor, an unknown `p`, or a nuclear norm without two dimensions.
    """
    if isinstance(p, str) and p != "fro":
        places = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
        return aten.linalg_matrix_norm(input, p, places, keepdim, dtype=dtype, out=out)
    order = 2 if p is None or isinstance(p, str) else p
    return aten.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)
