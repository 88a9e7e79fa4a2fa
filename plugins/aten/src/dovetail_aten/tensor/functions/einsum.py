"""`einsum` as users call it: the operands one by one, or in one sequence."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import Any, Final

from dovetail_dispatcher import overridable

from ..._generated import functions as aten

_IN_ORDER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@partial(overridable, is_spread=True)
def einsum(equation: Any, *operands: Any) -> Any:
    """Return the sum over products of elements that `equation` describes.

    Parameters
    ----------
    equation
        ``"ij,jk->ik"``; without an arrow the result has the labels that appear once, in
        alphabetical order. Or the first tensor, if labels are passed as lists: ``einsum(x, [0, 1],
        y, [1, 2], [0, 2])``, where the optional last list is for the result. A label is a number
        below 52, or Ellipsis.
    *operands
        One tensor per term, or a single sequence of them.

    Raises
    ------
    RuntimeError
        If the equation does not match the operands.
    ValueError
        If there are no operands, or if a label is out of range.
    """
    if not isinstance(equation, str) and operands:
        equation, operands = _equation_of((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its "
            "subscripts list: give a tensor per term."
        )
    return aten.einsum(equation, list(operands))


def _equation_of(given: tuple[object, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and the operands of a call with lists of labels."""
    pairs = len(given) // 2
    terms = [_labels(each) for each in given[1 : 2 * pairs : 2]]
    result = "->" + _labels(given[-1]) if len(given) % 2 else ""
    return ",".join(terms) + result, given[: 2 * pairs : 2]


def _labels(subscripts: object) -> str:
    """Return the letters for a list of labels: their order is that of the numbers."""
    if not isinstance(subscripts, (list, tuple)):
        raise TypeError(
            "einsum(): expected a list of subscripts after each operand, but found "
            f"{type(subscripts).__name__}. Give an equation, or a list of integers per tensor."
        )
    letters = []
    for each in subscripts:
        if each is not ... and not 0 <= index(each) < len(_IN_ORDER):
            raise ValueError(
                f"einsum(): subscript {each} in subscript list is not within the valid range "
                "[0, 52). Number the labels from 0."
            )
        letters.append("..." if each is ... else _IN_ORDER[each])
    return "".join(letters)
