"""Einstein summation, pair by pair, each contraction one batched matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import int64

from .views import reshape


def einsum(equation: str, tensors: Sequence[Any], *, path: Sequence[int] | None = None) -> Any:
    """Return the sum over products of elements that `equation` describes.

    Parameters
    ----------
    equation
        ``"ij,jk->ik"``; without an arrow the result has the labels that appear once, in
        alphabetical order.
    tensors
        The operands, one per term.
    path
        Ignored: operands are contracted from left to right.

    Raises
    ------
    RuntimeError
        If the equation does not fit the operands.
    """
    terms, result, sizes = _parse(equation, tuple([tuple(each.shape) for each in tensors]))
    operands = [_diagonals(tensor, term) for tensor, term in zip(tensors, terms, strict=True)]
    value, labels = operands[0]
    value, labels = _sum_alone(value, labels, [term for _, term in operands[1:]], result)
    for position, (other, other_labels) in enumerate(operands[1:], 1):
        later = [term for _, term in operands[position + 1 :]]
        other, other_labels = _sum_alone(other, other_labels, [labels, *later], result)
        value, labels = _contract(
            value, labels, other, other_labels, set("".join([result, *later])), sizes
        )
    if labels != result:
        value = F.permute(value, tuple([labels.index(label) for label in result]))
    wanted = tuple([sizes[label] for label in result])
    return value if tuple(value.array.shape) == wanted else F.expand(value, wanted)


@lru_cache(maxsize=256)
def _parse(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[list[str], str, dict[str, int]]:
    """Return the labels of every operand and of the result, ellipses written as digits, and the
    size of every label, for operands of these shapes.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(terms)}) does not match "
            "the number of operands "
            f"({len(shapes)}). Give one term per operand, separated by commas."
        )
    widths = [
        len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)
    ]
    for term, width in zip(terms, widths, strict=True):
        if width < 0 or (width > 0 and "..." not in term):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation '{term}' does not match the "
                "number of dimensions "
                "of its operand. Name every dimension, or write '...'."
            )
    most = max(
        [width for term, width in zip(terms, widths, strict=True) if "..." in term], default=0
    )
    hidden = "".join([chr(0xE000 + index) for index in range(most)])
    terms = [
        term.replace("...", hidden[most - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    everything = "".join(terms)
    if arrow:
        result = right.replace("...", hidden)
    else:
        result = hidden + "".join(
            sorted(
                [label for label in set(everything) - set(hidden) if everything.count(label) == 1]
            )
        )
    for label in result:
        if label not in everything or result.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once, or not in any input. "
                f"Correct '{equation}'."
            )
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            first = shape[term.index(label)]
            if size != first:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for an operand but the sizes don't "
                    f"match, {size} != {first}. Reshape the operand."
                )
            known = sizes.get(label, 1)
            if size != known and 1 not in (size, known):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for one operand, which does not "
                    "broadcast with "
                    f"previously seen size {known}. Reshape an operand."
                )
            sizes[label] = max(size, known) if 0 not in (size, known) else 0
    return terms, result, sizes


def _diagonals(tensor: Any, labels: str) -> tuple[Any, str]:
    """Return `tensor` with repeated labels replaced by diagonals."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = F.diagonal(tensor, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return tensor, labels


def _sum_alone(tensor: Any, labels: str, others: Sequence[str], result: str) -> tuple[Any, str]:
    """Return `tensor` summed over the labels that nothing else mentions."""
    needed = set("".join([*others, result]))
    dims = tuple([dim for dim, label in enumerate(labels) if label not in needed])
    if not dims:
        return tensor, labels
    return F.sum(tensor, dims), "".join([label for label in labels if label in needed])


def _contract(
    left: Any,
    left_labels: str,
    right: Any,
    right_labels: str,
    needed: set[str],
    sizes: dict[str, int],
) -> tuple[Any, str]:
    """Return the product of two operands, summed over the labels that are not needed any more."""
    dtype = left.dtype if left.dtype == right.dtype else None
    for label in [each for each in left_labels if each in right_labels and each not in needed]:
        if 1 in (left.shape[left_labels.index(label)], right.shape[right_labels.index(label)]):
            left, left_labels = _without(left, left_labels, label)
            right, right_labels = _without(right, right_labels, label)
    shared = [label for label in left_labels if label in right_labels]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    rows = [label for label in left_labels if label not in shared]
    columns = [label for label in right_labels if label not in shared]

    if not summed:
        left = _spread(left, left_labels, [*batch, *rows], 0, len(columns))
        right = _spread(right, right_labels, [*batch, *columns], len(rows), 0, len(batch))
        return F.mul(left, right), "".join([*batch, *rows, *columns])

    def arranged(tensor: Any, labels: str, *groups: list[str]) -> Any:
        order = [label for group in groups for label in group]
        if "".join(order) != labels:
            tensor = F.permute(tensor, tuple([labels.index(label) for label in order]))
        shape = tuple(tensor.array.shape)
        wanted = tuple(
            [sizes[label] if label in shared else shape[i] for i, label in enumerate(order)]
        )
        if shape != wanted:
            tensor = F.expand(tensor, wanted)
        bounds = [0, *_running([len(group) for group in groups])]
        flat = tuple([math.prod(wanted[a:b]) for a, b in pairwise(bounds)])
        return tensor if flat == wanted else reshape(tensor, flat)

    if dtype is not None and left.dtype != right.dtype:
        # A sum of integers of one operand alone is int64.
        left, right = F.to(left, dtype=int64), F.to(right, dtype=int64)
    if batch:
        product = F.bmm(
            arranged(left, left_labels, batch, rows, summed),
            arranged(right, right_labels, batch, summed, columns),
        )
    else:
        product = F.mm(
            arranged(left, left_labels, rows, summed),
            arranged(right, right_labels, summed, columns),
        )
    row_sizes = [left.shape[left_labels.index(label)] for label in rows]
    column_sizes = [right.shape[right_labels.index(label)] for label in columns]
    wanted = (*[sizes[label] for label in batch], *row_sizes, *column_sizes)
    if tuple(product.array.shape) != wanted:
        product = reshape(product, wanted)
    return product, "".join([*batch, *rows, *columns])


def _without(tensor: Any, labels: str, label: str) -> tuple[Any, str]:
    """Return `tensor` summed over a label, which is no sum where its size is 1."""
    dim = labels.index(label)
    less = F.select(tensor, dim, 0) if tensor.shape[dim] == 1 else F.sum(tensor, (dim,))
    return less, labels.replace(label, "")


def _spread(
    tensor: Any, labels: str, order: list[str], before: int, after: int, place: int = 0
) -> Any:
    """Return a tensor with its dimensions in an order, `before` new ones at `place` and `after` new
    ones at the end.
    """
    tensor = F.permute(tensor, [labels.index(label) for label in order])
    shape = list(tensor.shape)
    return F.reshape(tensor, [*shape[:place], *[1] * before, *shape[place:], *[1] * after])


def _running(lengths: Sequence[int]) -> list[int]:
    return [sum(lengths[: index + 1]) for index in range(len(lengths))]
