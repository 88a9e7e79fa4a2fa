"""Distances and lengths of vectors, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable


@overridable
def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Return ``input`` divided by its norm along ``dim``.

    Parameters
    ----------
    input : Tensor
        Floating point or complex, any shape.
    p : float, default 2.0
        The order of the norm.
    dim : int, default 1
        Dimension of the vectors, which get norm 1.
    eps : float, default 1e-12
        Lower bound of the norm.
    out : Tensor, optional
        Tensor to write the result into; disables differentiation.
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else aten.div(input, length, out=out)
