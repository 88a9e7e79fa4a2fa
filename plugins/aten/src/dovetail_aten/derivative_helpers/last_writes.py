"""Gradients of what is written at indices that may repeat: the last write counts."""

from __future__ import annotations

from typing import Any

from ..typing import Namespace, TensorLike


def numbered(k: Namespace, like: TensorLike) -> Any:
    """Return the numbers from 1 on, in the shape of `like`, integers: written at the same indices,
    they tell which write was the last.
    """
    ones = k.ones_like(k.reshape(like, (-1,)))
    return k.reshape(k.cumsum(ones, 0), like.shape)


def of_last_writes(k: Namespace, taken: TensorLike, last: TensorLike, numbers: TensorLike) -> Any:
    """Return the gradient `taken` from where was written, and 0 for what was overwritten.

    Parameters
    ----------
    last
        The numbers that are there after `numbers` were written.
    """
    return k.masked_fill(taken, k.ne(last, numbers), 0)
