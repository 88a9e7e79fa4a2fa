"""`einsum` as users call it: the operands one by one, or in one sequence."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail_dispatcher import overridable

from .._generated import functions as aten

__all__ = ["einsum"]


@partial(overridable, is_spread=True)
def einsum(equation: str, *operands: Any) -> Any:
    """Return the sum over products of elements that `equation` describes.

    Parameters
    ----------
    equation
        ``"ij,jk->ik"``; without an arrow the result has the labels that appear once, in
        alphabetical order.
    *operands
        One tensor per term, or a single sequence of them.

    Raises
    ------
    RuntimeError
        If the equation does not fit the operands.
    ValueError
        If there are none.
    """
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its "
            "subscripts list: give a tensor per term."
        )
    return aten.einsum(equation, list(operands))
