"""Memory that kernels write to on their way, kept from one call to the next.

New memory of the size of a block is often fresh pages from the system, which have to be cleared
first: that takes several times as long as what is written there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

__all__ = ["BLOCK_BYTES", "ROOMS", "Scratch"]

BLOCK_BYTES: Final = 1 << 17
"""Size of a block: a few of them fit into the cache of a core, and the steps outweigh the calls."""
ROOMS: Final = 3
"""Blocks in one piece of memory."""
_KEPT: Final = 8
"""Pieces that are kept: one for each thread that computes."""
_free: Final[list[Any]] = []


class Scratch:
    """Memory for up to `ROOMS` blocks, while it is entered.

    A piece is taken out of the list and put back, so that no other thread writes to it, and no
    finalizer that runs in this one meanwhile.
    """

    def __enter__(self) -> Any:
        """Return memory of the shape (ROOMS, BLOCK_BYTES), of uint8."""
        try:
            self._memory = _free.pop()
        except IndexError:
            self._memory = numpy.empty((ROOMS, BLOCK_BYTES), numpy.uint8)
        return self._memory

    def __exit__(self, *_: object) -> None:
        if len(_free) < _KEPT:
            _free.append(self._memory)
