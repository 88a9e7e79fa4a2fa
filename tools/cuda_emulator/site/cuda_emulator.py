"""What the emulated driver has counted: launches, copies and synchronisations.

with count() as counted:
    y = f(x)
counted.launches, counted.kernels, counted.syncs
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

NAMES = (
    "launches",
    "to_device",
    "to_host",
    "on_device",
    "stream_syncs",
    "device_syncs",
    "event_syncs",
    "allocations",
    "fills",
    "library_calls",
)
STRICT = os.environ.get("EMULATOR_MODE") == "strict"

_driver = ctypes.CDLL("libcuda.so.1")
_driver.emulator_counted.restype = ctypes.c_long
_driver.emulator_noted.restype = ctypes.c_char_p
_driver.emulator_noted.argtypes = [ctypes.c_size_t]


@dataclass
class Counted:
    """What happened in a block; the numbers are complete when it has ended.

    Attributes
    ----------
    launches
        Kernels, with the calls of cuBLAS and its like among them.
    kernels
        Their names, in order.
    to_device, to_host, on_device
        Copies.
    """

    launches: int = 0
    to_device: int = 0
    to_host: int = 0
    on_device: int = 0
    stream_syncs: int = 0
    device_syncs: int = 0
    event_syncs: int = 0
    allocations: int = 0
    fills: int = 0
    library_calls: int = 0
    kernels: list[str] = field(default_factory=list)

    @property
    def syncs(self) -> int:
        """Return how often the host waited."""
        return self.stream_syncs + self.device_syncs + self.event_syncs


def counters() -> dict[str, int]:
    """Return the counters of the process."""
    return {name: _driver.emulator_counted(index) for index, name in enumerate(NAMES)}


@contextmanager
def count() -> Iterator[Counted]:
    """Count what happens in the block, in all threads; blocks do not nest."""
    counted, before = Counted(), counters()
    _driver.emulator_note_launches(1)
    try:
        yield counted
    finally:
        for name, value in counters().items():
            setattr(counted, name, value - before[name])
        index = 0
        while (noted := _driver.emulator_noted(index)) is not None:
            counted.kernels.append(noted.decode())
            index += 1
        _driver.emulator_note_launches(0)
