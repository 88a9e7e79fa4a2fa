"""Says on stderr that functions are being compiled: nothing is to be silent for long."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

_EVERY: Final = 5.0
"""Seconds between two lines."""


class Progress:
    """Lines about what is compiled: one for the first function, then one every few seconds.

    ``DOVETAIL_NUMBA_PROGRESS=0`` leaves them out.
    """

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self._said = -_EVERY

    def begin(self, name: str, kept_in: str) -> None:
        """Say that `name` is being compiled, unless something was said a moment ago."""
        now = time.monotonic()
        if now - self._said < _EVERY:
            return
        self._said = now
        if not self.count:
            say(f"compiling {name}; machine code is kept {kept_in}, later starts load it")
        else:
            say(f"compiling {name}, after {self.count} kernels in {self.seconds:.1f} s")

    def end(self, seconds: float) -> None:
        """Count a function that took so long."""
        self.count += 1
        self.seconds += seconds


def say(text: str) -> None:
    """Write a line to stderr."""
    if os.environ.get("DOVETAIL_NUMBA_PROGRESS") != "0" and sys.stderr is not None:
        print(f"dovetail-numba: {text}", file=sys.stderr, flush=True)


__all__ = ["Progress", "say"]
