"""Seeds of a run: a share of each hunt, or as many trials as the environment asks for."""

from __future__ import annotations

import os
import time
from zlib import crc32

__all__ = ["seeds"]

_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # what all processes of a run have in common
CLOCK = (time.time_ns() // 10**9 if _RUN is None else crc32(_RUN.encode())) % 10**8
"""First seed of this run where the environment names none."""


def seeds(hunt: str, share: int, first: int = CLOCK) -> range:
    """Return the seeds of the trials to run, and print how to run them again.

    Parameters
    ----------
    hunt
        Name of the hunt, for the printed line.
    share
        Number of trials where `DOVETAIL_HUNT` is not set.
    first
        The first seed where `DOVETAIL_FIRST_HUNT` is not set.
    """
    count = int(os.environ.get("DOVETAIL_HUNT") or share)
    first = int(os.environ.get("DOVETAIL_FIRST_HUNT") or first)
    print(f"{hunt}: DOVETAIL_HUNT={count} DOVETAIL_FIRST_HUNT={first}")
    return range(first, first + count)
