"""Memory of each thread that is kept for what blocks need."""

from __future__ import annotations

import numpy as np

from dovetail_cpu.memory import scratch


def test_scratch_memory_begins_with_lines_of_the_cache():
    with scratch.Scratch() as memory:
        starts = [each.ctypes.data for each in memory]
        assert all(start % 64 == 0 for start in starts)
        assert len({start % 4096 for start in starts}) == len(starts)
        assert memory.shape == (scratch.ROOMS, scratch.BLOCK_BYTES)


def test_scratch_memory_is_never_shared_and_is_kept():
    with scratch.Scratch() as first, scratch.Scratch() as second:
        assert not np.shares_memory(first, second)
    with scratch.Scratch() as again:
        assert np.shares_memory(again, first)
