"""`norm`, with PyTorch's defaults: the operators of that name take the order of the norm first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import dtype

from .._generated import functions as aten

__all__ = ["norm"]


@overridable
def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Any:
    """Return a vector norm of `input`.

    Parameters
    ----------
    input
        A tensor of floating-point or complex dtype, of any shape.
    p
        The order; ``"fro"`` and None mean 2.
    dim
        The dimensions to reduce; default: all.
    keepdim
        Keep the reduced dimensions with size 1.
    out
        A tensor to write the result into.
    dtype
        The dtype to compute in; default: that of `input`.

    Raises
    ------
    NotImplementedError
        For the nuclear norm.
    RuntimeError
        For an integer tensor.
    """
    if isinstance(p, str) and p != "fro":
        raise NotImplementedError(
            f"norm(): p={p!r} is not implemented. Give a number, 'fro' or None."
        )
    order = 2 if p is None or isinstance(p, str) else p
    return aten.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)
