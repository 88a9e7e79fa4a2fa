"""One-hot bits for what joins a signature or a dispatch state at run time: other backends, interned
states.
"""

from __future__ import annotations

from itertools import count
from threading import Lock

from ..fork_locks import renewed_after_fork
from ..signature import FIRST_FREE_BIT

_positions = count(FIRST_FREE_BIT)
_lock = renewed_after_fork(Lock())


def allocate_bit() -> int:
    """Return an int with one bit set, a new one for each caller."""
    with _lock:
        return 1 << next(_positions)
