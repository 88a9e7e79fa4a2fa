"""Pieces of arrays on the threads of the cpu backend, where there is enough to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail_cpu.threads import SHARED_FROM, get_num_threads, run_pieces

_WORTH: Final = 40_000
"""Nanoseconds of work from which several threads pay."""


def pays(cost: float) -> bool:
    """Return whether `split` would use several threads for work of so many nanoseconds."""
    return cost >= _WORTH and get_num_threads() > 1


def split(work: Callable[[int, int], object], size: int, cost: float) -> None:
    """Call ``work(start, stop)`` for parts of ``range(size)``, on several threads if that pays: as
    many as ``dovetail.set_num_threads`` says.

    Parameters
    ----------
    work
        Runs compiled code, so that threads do run side by side. It must be ready: compiled.
    size
        How many items there are; a part is some of them in a row.
    cost
        Nanoseconds of work in all, roughly.
    """
    run_pieces(work, size, int(cost * SHARED_FROM / _WORTH))


__all__ = ["pays", "split"]
