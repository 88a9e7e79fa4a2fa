"""The tensors that expressions are evaluated on, by size: small, medium and large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """The shapes of one size.

    Attributes
    ----------
    side
        Rows and columns of the matrices.
    image
        Batch, channels, height and width of the images.
    sequence
        Batch, heads, length and width of what attention gets.
    word
        Batch and length of the words that are looked up.
    """

    side: int
    image: tuple[int, int, int, int]
    sequence: tuple[int, int, int, int]
    word: tuple[int, int]


SMALL = Size(8, (1, 4, 8, 8), (1, 2, 8, 4), (2, 4))
MEDIUM = Size(256, (4, 16, 32, 32), (2, 4, 64, 32), (16, 32))
LARGE = Size(1024, (16, 32, 56, 56), (4, 8, 256, 64), (64, 256))


def scope(size: Size) -> Any:
    """Return what makes the names of expressions for a library.

    ``x, y, z`` are matrices with elements between 0.1 and 1, ``w, b`` a weight and a bias that
    gradients flow to, ``batch`` matrices to multiply, ``i`` a row of places, ``p`` a matrix of
    places, ``m`` a mask, ``one`` a tensor of one element; ``image, filters, q, words, table,
    labels`` are what layers get; ``lib, F`` the library and its functions.
    """

    def make(lib: Any, grad: bool) -> dict[str, Any]:
        import numpy as np  # after the environment is set

        rng = np.random.default_rng(0)

        def floats(*shape: int, leaf: bool = False) -> Any:
            made = lib.from_numpy(rng.uniform(0.1, 1.0, shape).astype(np.float32))
            return made.requires_grad_() if leaf and grad else made

        def integers(high: int, *shape: int) -> Any:
            return lib.from_numpy(rng.integers(0, high, shape))

        n, channels = size.side, size.image[1]
        return {
            "lib": lib,
            "F": lib.nn.functional,
            "x": floats(n, n, leaf=True),
            "y": floats(n, n),
            "z": floats(n, n),
            "w": floats(n, n, leaf=True),
            "b": floats(n, leaf=True),
            "batch": floats(4, max(n // 4, 2), max(n // 4, 2), leaf=True),
            "i": integers(n, n),
            "p": integers(n, n, n),
            "m": floats(n, n) > 0.5,
            "one": floats(1),
            "image": floats(*size.image, leaf=True),
            "filters": floats(channels, channels, 3, 3, leaf=True),
            "mean": floats(channels),
            "q": floats(*size.sequence, leaf=True),
            "words": integers(n, *size.word),
            "table": floats(n, 64, leaf=True),
            "labels": integers(n, n),
            "array": rng.uniform(0.1, 1.0, (n, n)).astype(np.float32),
        }

    return make
