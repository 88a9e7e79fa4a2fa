"""Functions of NumPy arrays on the chunks of arrays, one task for each chunk of the result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

from .chunks import one_empty_chunk

Labels = Sequence[Hashable]


class Result(NamedTuple):
    """What one of the results of a function is like.

    Attributes
    ----------
    labels
        Of its dimensions: those of operands have the same chunks.
    dtype
        Of its elements.
    new
        Sizes of the dimensions that no operand has, in one chunk, by label.
    """

    labels: Labels
    dtype: Any
    new: Mapping[Any, Any]


def on_blocks(
    function: Callable[..., object],
    result: Result,
    *operands: Any,
    align: bool = True,
    sizes: Mapping[object, object] | None = None,
) -> Any:
    """Return the array of what `function` returns for the chunks of `operands`.

    Parameters
    ----------
    operands
        Arrays and the labels of their dimensions by turns. Along a dimension that the result has
        not, chunks are joined and handed over together.
    align
        Whether operands that share a dimension are to have the same chunks along it.
    sizes
        How large the chunks of the result are along a dimension of an operand, if not as those.
    """
    numbers: dict[Hashable, int] = {}  # for Dask, which sorts its labels

    def numbered(labels: Labels) -> tuple[int, ...]:
        return tuple([numbers.setdefault(each, len(numbers)) for each in labels])

    labels = numbered(result.labels)
    pairs = [
        numbered(each) if place % 2 and each is not None else one_empty_chunk(each)
        for place, each in enumerate(operands)
    ]
    return da.blockwise(
        function,
        labels,
        *pairs,
        dtype=result.dtype,
        meta=np.empty((0,) * len(labels), result.dtype),
        new_axes={numbers[label]: size for label, size in result.new.items()} or None,
        adjust_chunks={numbers[label]: size for label, size in (sizes or {}).items()} or None,
        concatenate=True,
        align_arrays=align,
    )


def on_blocks_for_several(
    function: Callable[..., object],
    labels: Labels,
    results: Sequence[Result | None],
    *operands: Any,
    **options: Any,
) -> list[Any]:
    """Return the arrays of a function that returns several at once; None for a result of None.

    Parameters
    ----------
    labels
        Of the dimensions of operands that the function is called for chunk by chunk: every result
        has these.
    options
        Of `on_blocks`.
    """
    together = on_blocks(function, Result(labels, np.dtype(object), {}), *operands, **options)
    return [
        None if each is None else on_blocks(itemgetter(place), each, together, tuple(labels))
        for place, each in enumerate(results)
    ]


@dataclass(frozen=True)
class Checked:
    """Looks at a chunk.

    Attributes
    ----------
    error
        Returns what to raise for the first element that is not right.
    """

    error: Callable[[Any], Exception]

    def __call__(self, chunk: np.ndarray, right: np.ndarray) -> Any:
        """Return the chunk. Raises what `error` returns."""
        if not np.all(right):
            chunk, right = np.broadcast_arrays(chunk, right)
            raise self.error(chunk[~right][0])
        return chunk


def elementwise(function: Callable[..., object], *operands: Any, dtype: object) -> Any:
    """Return the array of an elementwise function of arrays that broadcast."""
    ndim = max([each.ndim for each in operands])
    pairs = [part for each in operands for part in (each, tuple(range(each.ndim))[::-1])]
    return on_blocks(function, Result(tuple(range(ndim))[::-1], dtype, {}), *pairs)
