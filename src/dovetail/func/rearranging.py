"""`rearrange`: reshapes and permutes a tensor by a pattern, as einops does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count as counting
from math import prod
from typing import NamedTuple

import dovetail_aten as aten
from dovetail_aten import Tensor

_TOKEN = re.compile(r"\s*(\.\.\.|->|[A-Za-z0-9_]+|[().]|$|.)")
_ELLIPSIS = "..."

Group = tuple[str, ...]
"""The axes that form one dimension: names, numbers and an ellipsis."""

_ALL: Group = (_ELLIPSIS, _ELLIPSIS)
"""An ellipsis outside of parentheses: a dimension for each of its axes."""


class _Pattern(NamedTuple):
    """The dimensions of both sides of a pattern; a number 1 has a name of its own there."""

    left: tuple[Group, ...]
    right: tuple[Group, ...]


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """Reshape and permute a tensor as a pattern says: transpose, join, split, add and remove axes.

    Parameters
    ----------
    tensor
        A tensor, or tensors of one shape that form a new first dimension.
    pattern
        The axes before and after ``->``. Parentheses join axes to one dimension, ``...`` stands for
        all axes without name, 1 and ``()`` for a dimension of size 1.
    axes_lengths
        Sizes of axes; one per dimension may be left out.

    Returns
    -------
    Tensor
        A view if the elements allow it.

    Raises
    ------
    ValueError
        For a pattern with an error, or that does not fit the tensor.

    Examples
    --------
    >>> import dovetail
    >>> images = dovetail.zeros(32, 30, 40, 3)
    >>> dovetail.func.rearrange(images, "b h w c -> b c h w").shape
    dovetail.Size([32, 3, 30, 40])
    >>> dovetail.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    dovetail.Size([128, 15, 20, 3])
    """
    if not isinstance(tensor, Tensor):
        tensor = aten.stack(list(tensor))
    sides = _parsed(pattern)
    named = {name for group in sides.left for name in group}
    if unknown := sorted(set(axes_lengths) - named):
        raise ValueError(
            f"Identifiers not found in rearrange expression: {set(unknown)}. Name axes of the "
            "pattern."
        )
    shape = tuple(tensor.shape)
    left, right = _without_ellipsis(*sides, len(shape))
    sizes = dict(axes_lengths)
    for group, size in zip(left, shape, strict=True):
        _measure(group, size, sizes)
    order = {name: place for place, name in enumerate(name for group in left for name in group)}
    split = tensor.reshape([sizes[name] for name in order])
    kept = [name for group in right for name in group if not name.isdigit()]
    rest = [name for name in order if name not in kept]  # of size 1
    moved = split.permute([order[name] for name in (*kept, *rest)])
    return moved.reshape(
        [prod([1 if name.isdigit() else sizes[name] for name in group]) for group in right]
    )


def _measure(group: Group, size: int, sizes: dict[str, int]) -> None:
    """Find the sizes of the axes of a dimension. Raises ValueError if two are unknown, or they do
    not multiply to `size`.
    """
    unknown = [name for name in group if name not in sizes]
    for name in [name for name in unknown if name.startswith("1 ")]:
        sizes[name] = 1
        unknown.remove(name)
    if len(unknown) > 1:
        raise ValueError(
            f"cannot infer the sizes of {len(unknown)} dimensions at once: {' and '.join(unknown)} "
            "of a dimension. Pass the sizes of all but one."
        )
    known = prod([sizes[name] for name in group if name in sizes])
    if unknown and known and size % known == 0:
        sizes[unknown[0]] = size // known
    elif unknown or known != size:
        raise ValueError(
            f"the axes ({' '.join(group)}) of product {known} do not fit a dimension of size "
            f"{size}. Pass other sizes."
        )


def _without_ellipsis(
    left: Iterable[Group], right: Iterable[Group], ndim: int
) -> tuple[list[Group], list[Group]]:
    """Return both sides with names for the axes that an ellipsis stands for."""
    left = list(left)
    count = len(left) - (_ALL in left)
    if count > ndim or (_ALL not in left and count != ndim):
        raise ValueError(
            f"Number of dimensions in pattern ({count}) must be equal to the number of dimensions "
            f"in the tensor ({ndim}). Name all of them, or use '...'."
        )
    names = [f"... {place}" for place in range(ndim - count)]
    left, right = (
        [
            each
            for group in side
            for each in ([(name,) for name in names] if group == _ALL else [_filled(group, names)])
        ]
        for side in (left, right)
    )
    return left, right


def _filled(group: Group, names: Sequence[str]) -> Group:
    return tuple([name for each in group for name in (names if each == _ELLIPSIS else (each,))])


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> _Pattern:
    """Return the sides of a pattern. Raises ValueError if it has an error."""
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator. Write 'a b -> b a'.")
    before, _, after = pattern.partition("->")
    left, right = _groups(before), _groups(after)
    if any([_ELLIPSIS in group and group != _ALL for group in left]):
        raise ValueError(
            f"Ellipsis is parenthesis in the left side is not allowed: {pattern}. Write '...'."
        )
    names = [{name for group in side for name in group} for side in (left, right)]
    if _ELLIPSIS in names[1] - names[0]:
        raise ValueError(
            f"Ellipsis found in right side, but not left side of a pattern {pattern}. Write it on "
            "both sides."
        )
    one_sided = {name for name in names[0] ^ names[1] if not name.isdigit()}
    if one_sided:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{one_sided}. Name each axis on both sides."
        )
    return _Pattern(_numbered(left), _numbered(right, is_made=True))


def _numbered(groups: Sequence[Group], is_made: bool = False) -> tuple[Group, ...]:
    """Return groups with a name for each axis of size 1 that a tensor has, and none for those that
    are made.
    """
    numbers = counting()
    return tuple(
        [
            tuple(
                [
                    f"1 {next(numbers)}" if name == "1" else name
                    for name in group
                    if not (is_made and name == "1")
                ]
            )
            for group in groups
        ]
    )


def _groups(text: str) -> list[Group]:
    """Return the dimensions of one side of a pattern."""
    groups: list[Group] = []
    inside: list[str] | None = None
    seen: set[str] = set()
    for token in _TOKEN.findall(text):
        if token == "(":
            if inside is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed). Remove "
                    "the inner ones."
                )
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError(f"Brackets are not balanced: '{text}'. Open each.")
            groups.append(tuple(inside))
            inside = None
        elif token:
            _check_axis(token, seen)
            if inside is None:
                groups.append(_ALL if token == _ELLIPSIS else (token,))
            else:
                inside.append(token)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'. Close each.")
    return groups


def _check_axis(token: str, seen: set[str]) -> None:
    if token == ".":
        raise ValueError("Expression may contain dots only inside ellipsis (...). Write '...'.")
    if token != _ELLIPSIS and not token.replace("_", "a").isalnum():
        raise ValueError(f"Unknown character '{token}'. Use letters, digits and underscores.")
    if token.isdigit():
        if token != "1":
            raise ValueError(
                "rearrange only supports unnamed axes of size 1. Name the axis and pass its size."
            )
        return
    if token != _ELLIPSIS and (not token.isidentifier() or "_" in (token[0], token[-1])):
        raise ValueError(
            f"Invalid axis identifier: {token} is no name, or begins or ends with an underscore. "
            "Name it by a letter."
        )
    if token in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'. Rename it.")
    seen.add(token)
