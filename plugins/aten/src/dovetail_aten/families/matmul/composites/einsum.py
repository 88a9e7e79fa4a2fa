"""Einstein summation, pair by pair, each contraction one batched matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters
from typing import Any, Final, NamedTuple

from dovetail_aten._generated import functions as F
from dovetail_kernel import int64

from ....composites.reshaping import reshape
from ....typing import Tensor

_SUBSCRIPTS: Final = frozenset(f"{ascii_letters}. ")


def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Any:
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
        If the equation does not match the operands.
    """
    terms, result, sizes = _parse(equation, tuple([each.array.shape for each in tensors]))
    known = dict(sizes)
    operands = [_diagonals(tensor, term) for tensor, term in zip(tensors, terms, strict=True)]
    value, labels = operands[0]
    value, labels = _sum_alone(value, labels, "".join([*terms[1:], result]))
    for position, (other, other_labels) in enumerate(operands[1:], 1):
        # The result's labels come first: products are laid out in their order.
        needed = "".join([result, *terms[position + 1 :]])
        other, other_labels = _sum_alone(other, other_labels, labels + needed)
        value, labels = _contract(value, labels, other, other_labels, needed, sizes)
    if labels != result:
        value = F.permute(value, tuple([labels.index(label) for label in result]))
    wanted = tuple([known[label] for label in result])
    return value if value.array.shape == wanted else F.expand(value, wanted)


@lru_cache(maxsize=256)
def _parse(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[list[str], str, tuple[tuple[str, int], ...]]:
    """Return the labels of every operand and of the result, ellipses written as letters of their
    own, and every label with its size, for operands of these shapes.
    """
    left, arrow, right = equation.partition("->")
    for term in (*left.split(","), right):
        _check_subscripts(equation, term)
    left, right = left.replace(" ", ""), right.replace(" ", "")
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
    return terms, result, tuple(sizes.items())


def _check_subscripts(equation: str, term: str) -> None:
    """Raise an error for a term with other characters than ASCII letters and one ellipsis."""
    wrong = next(iter([each for each in term if each not in _SUBSCRIPTS]), None)
    if wrong is not None:
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {equation.index(wrong)} in the equation "
            f"string, subscripts must be in [a-zA-Z], but {equation!r} has {wrong!r}. Name "
            "dimensions by letters."
        )
    if "." in term.replace("...", "", 1):
        raise RuntimeError(
            f"einsum(): found '.' in the term '{term}' that is not part of any ellipsis, or of a "
            "second one. Write '...' once for the dimensions without a letter."
        )


def _diagonals(tensor: Any, labels: str) -> tuple[Any, str]:
    """Return `tensor` with repeated labels replaced by diagonals."""
    if len(set(labels)) == len(labels):
        return tensor, labels
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = F.diagonal(tensor, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return tensor, labels


def _sum_alone(tensor: Tensor, labels: str, others: str) -> tuple[Any, str]:
    """Return `tensor` summed over the labels that nothing else mentions."""
    dims = _dims_alone(labels, others)
    if not dims:
        return tensor, labels
    return F.sum(tensor, dims), "".join([label for label in labels if label in others])


@lru_cache(maxsize=256)
def _dims_alone(labels: str, others: str) -> tuple[int, ...]:
    return tuple([dim for dim, label in enumerate(labels) if label not in others])


def _contract(
    left: Tensor,
    left_labels: str,
    right: Tensor,
    right_labels: str,
    needed: str,
    sizes: tuple[tuple[str, int], ...],
) -> tuple[Any, str]:
    """Return the product of two operands, summed over the labels that are not needed any more."""
    dtype = left.dtype if left.dtype is right.dtype else None
    if _right_leads(left_labels, right_labels, needed):
        left, left_labels, right, right_labels = right, right_labels, left, left_labels
    plan = _planned(left_labels, left.array.shape, right_labels, right.array.shape, needed, sizes)
    if plan.single:
        for label in plan.single:
            left, left_labels = _without(left, left_labels, label)
            right, right_labels = _without(right, right_labels, label)
        plan = _planned(
            left_labels, left.array.shape, right_labels, right.array.shape, needed, sizes
        )
    left, right = plan.left.of(left), plan.right.of(right)
    if plan.product == "mul":
        return F.mul(left, right), plan.labels
    if dtype is not None and left.dtype is not right.dtype:
        # A sum of integers of one operand alone is int64.
        left, right = F.to(left, dtype=int64), F.to(right, dtype=int64)
    product = F.bmm(left, right) if plan.product == "bmm" else F.mm(left, right)
    if product.array.shape != plan.shape:
        product = reshape(product, plan.shape)
    return product, plan.labels


@lru_cache(maxsize=256)
def _right_leads(left_labels: str, right_labels: str, needed: str) -> bool:
    """Return whether the first label of the result that one operand alone has is the right one's:
    its labels are then the rows of the product, so that the result is contiguous.
    """
    for label in needed:
        if (label in left_labels) != (label in right_labels):
            return label in right_labels
    return False


class _Arrangement(NamedTuple):
    """How an operand is brought into the form of a factor; None where nothing is to be done."""

    order: tuple[int, ...] | None
    expanded: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    def of(self, tensor: Any) -> Any:
        if self.order is not None:
            tensor = F.permute(tensor, self.order)
        if self.expanded is not None:
            tensor = F.expand(tensor, self.expanded)
        return tensor if self.shape is None else reshape(tensor, self.shape)


class _Contraction(NamedTuple):
    """What is done to two operands: the product of which, of what shape, and its labels."""

    single: tuple[str, ...]
    """Labels to be summed over beforehand, since one of the operands has a size of 1 there."""
    left: _Arrangement
    right: _Arrangement
    product: str
    shape: tuple[int, ...]
    labels: str


@lru_cache(maxsize=256)
def _planned(
    left_labels: str,
    left_shape: tuple[int, ...],
    right_labels: str,
    right_shape: tuple[int, ...],
    needed: str,
    all_sizes: tuple[tuple[str, int], ...],
) -> _Contraction:
    """Return how two operands of these labels and shapes are contracted."""
    own, other = (
        dict(zip(left_labels, left_shape, strict=True)),
        dict(zip(right_labels, right_shape, strict=True)),
    )
    shared = [label for label in left_labels if label in other]
    summed = [label for label in shared if label not in needed]
    kept = [label for label in dict.fromkeys(needed) if label in own or label in other]
    batch = [label for label in kept if label in own and label in other]
    rows = [label for label in kept if label not in other]
    columns = [label for label in kept if label not in own]
    sizes = {**own, **other, **{label: size for label, size in all_sizes if label in shared}}

    def arranged(labels: str, known: dict[str, int], *groups: list[str]) -> _Arrangement:
        order = [label for group in groups for label in group]
        shape = tuple([known[label] for label in order])
        wanted = tuple([sizes[label] for label in order])
        flat = tuple([math.prod([sizes[label] for label in group]) for group in groups])
        return _Arrangement(
            tuple([labels.index(label) for label in order]) if "".join(order) != labels else None,
            wanted if wanted != shape else None,
            flat if flat != wanted else None,
        )

    def spread(labels: str, known: dict[str, int]) -> _Arrangement:
        """Return how an operand is arranged that is multiplied element by element."""
        return _Arrangement(
            tuple([labels.index(label) for label in kept if label in known]),
            None,
            tuple([known.get(label, 1) for label in kept]),
        )

    if not summed:
        first, second = spread(left_labels, own), spread(right_labels, other)
        return _Contraction((), first, second, "mul", (), "".join(kept))
    labels = "".join([*batch, *rows, *columns])
    if batch:
        first = arranged(left_labels, own, batch, rows, summed)
        second = arranged(right_labels, other, batch, summed, columns)
    else:
        first = arranged(left_labels, own, rows, summed)
        second = arranged(right_labels, other, summed, columns)
    return _Contraction(
        tuple([label for label in summed if 1 in (own[label], other[label])]),
        first,
        second,
        "bmm" if batch else "mm",
        tuple([sizes[label] for label in labels]),
        labels,
    )


def _without(tensor: Tensor, labels: str, label: str) -> tuple[Any, str]:
    """Return `tensor` summed over a label, which is no sum where its size is 1."""
    dim = labels.index(label)
    less = F.select(tensor, dim, 0) if tensor.shape[dim] == 1 else F.sum(tensor, (dim,))
    return less, labels.replace(label, "")
