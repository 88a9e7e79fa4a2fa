"""Memory that kernels write to on their way, kept from one call to the next.

New memory of the size of a block is often fresh pages from the system, which have to be cleared
first: that takes several times as long as what is written there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

_CACHE: Final = "/sys/devices/system/cpu/cpu0/cache/index2/size"
"""Where Linux says how large the second cache of a core is: ``2048K``."""


def _fitting_size() -> int:
    """Return the size in bytes of which eight fit into the cache of a core, where that is known to
    be large.
    """
    try:
        with open(_CACHE, encoding="utf-8") as file:
            kilobytes = file.read().strip().removesuffix("K")
    except (OSError, ValueError):
        kilobytes = ""
    return 1 << (18 if kilobytes.isdecimal() and int(kilobytes) >= 2048 else 17)


BLOCK_BYTES: Final = _fitting_size()
"""Size of a block: some of them fit into the cache of a core, and the steps outweigh the calls."""
ROOMS: Final = 4
"""Blocks in one piece of memory."""
_LINE: Final = 64
"""Bytes of a line of the cache, and of the widest vector."""
_APART: Final = BLOCK_BYTES + 17 * _LINE
"""From one block to the next: of what is read and what was just written the last twelve bits of the
addresses are not the same, or the processor would wait for the write.
"""
_KEPT: Final = 8
"""Pieces that are kept: one for each thread that computes."""
_free: Final[list[Any]] = []


def _new_memory() -> Any:
    """Return memory for blocks that each begin with a line of the cache: NumPy's own begins at
    multiples of 16 bytes, and a pass over two arrays that lie so takes twice as long.
    """
    memory = numpy.empty(ROOMS * _APART + _LINE, numpy.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + ROOMS * _APART].reshape(ROOMS, _APART)[:, :BLOCK_BYTES]


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
            self._memory = _new_memory()
        return self._memory

    def __exit__(self, *_: object) -> None:
        if len(_free) < _KEPT:
            _free.append(self._memory)
