"""Random numbers by chunks: each chunk has a seed of its own, so that any worker draws the same
numbers for it, as often as it is computed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from ..blockwise import Result, on_blocks
from ..chunks import automatic


class ChunkedGenerator:
    """A source of random numbers. What is drawn depends on the seed, on how often it was drawn
    from, and on the chunks of what is drawn.
    """

    def __init__(self, seed: int, draws: int = 0) -> None:
        self.seed = seed
        self._draws = draws

    @property
    def state(self) -> bytes:
        """The seed and the number of draws."""
        return struct.pack("<QQ", self.seed, self._draws)

    @classmethod
    def restored(cls, state: bytes) -> ChunkedGenerator:
        """Return the source that `state` was taken of."""
        return cls(*struct.unpack("<QQ", state))

    def random(self, shape: Sequence[int], dtype: object) -> Any:
        """Return uniform numbers of [0, 1)."""
        return self._drawn("random", (), shape, dtype)

    def standard_normal(self, shape: Sequence[int], dtype: object) -> Any:
        """Return standard normal numbers."""
        return self._drawn("standard_normal", (), shape, dtype)

    def integers(self, low: int, high: int, shape: Sequence[int]) -> Any:
        """Return int64 numbers in [low, high)."""
        return self._drawn("integers", (low, high), shape, np.dtype(np.int64))

    def permutation(self, n: int) -> Any:
        """Return the int64 numbers below `n` in random order, which one task draws."""
        return self._drawn("permutation", (n,), (n,), np.dtype(np.int64), in_one_chunk=True)

    def _drawn(
        self,
        method: str,
        args: tuple[object, ...],
        shape: Sequence[int],
        dtype: object,
        in_one_chunk: bool = False,
    ) -> Any:
        shape = tuple(shape)
        chunks = tuple([(n,) for n in shape]) if in_one_chunk else automatic(shape)
        chunks = da.core.normalize_chunks(chunks, shape, dtype=dtype)
        draw = self._draws
        self._draws += 1
        labels = tuple(range(len(shape)))
        operands = []
        for dim, sizes in enumerate(chunks):
            # One number for each chunk: where it lies and how large it is.
            places = np.empty(len(sizes), [("place", np.int64), ("size", np.int64)])
            places["place"], places["size"] = np.arange(len(sizes)), sizes
            operands += [da.from_array(places, chunks=1), (dim,)]
        made = on_blocks(
            _Draw(method, args, (self.seed, draw), dtype),
            Result(labels, dtype, {}),
            *operands,
            sizes=dict(enumerate(chunks)),
        )
        return made


class _Draw:
    """Draws the numbers of one chunk."""

    __slots__ = ("__name__", "_args", "_dtype", "_method", "_seed")

    def __init__(
        self, method: str, args: tuple[Any, ...], seed: tuple[int, int], dtype: object
    ) -> None:
        self._method, self._args, self._seed, self._dtype = method, args, seed, dtype
        self.__name__ = method

    def __call__(self, *places: Any) -> Any:
        """Return the numbers of the chunk that lies at `places`."""
        where = [int(each["place"][0]) for each in places]
        shape = tuple([int(each["size"][0]) for each in places])
        seed = np.random.SeedSequence((*self._seed, *where))
        source = np.random.Generator(np.random.Philox(seed))
        if self._method == "permutation":
            return source.permutation(*self._args)
        draw = getattr(source, self._method)
        return np.asarray(draw(*self._args, size=shape, dtype=self._dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Draw, (self._method, self._args, self._seed, self._dtype)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return self._method, self._args, self._seed, str(self._dtype)
