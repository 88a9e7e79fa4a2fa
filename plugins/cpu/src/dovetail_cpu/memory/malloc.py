"""The settings of glibc's allocator that large arrays suffer from.

By default memory of a large array goes back to the system when the array dies, and the next one
gets fresh pages, which the processor has to clear: that takes as long as a pass over them.
"""

from __future__ import annotations

import ctypes
import platform
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_GREATEST: Final = (1 << 31) - 1
"""mallopt takes an int."""
_LARGEST_KEPT: Final = (1 << 25) - (1 << 14)
"""Just below glibc's DEFAULT_MMAP_THRESHOLD_MAX, in bytes."""


def keep_freed_memory() -> None:
    """Let glibc reuse the memory of arrays of up to 32 MiB, and keep 64 MiB at the end of the heap.

    Its thresholds follow the largest block that was freed, up to these sizes: one that is never
    touched, and takes no memory, is freed here. Where the thresholds were set, by `tune_malloc` or
    by the environment, they stay.
    """
    with suppress(MemoryError):  # a process that may not have so much address space
        np.empty(_LARGEST_KEPT, np.uint8)


class TunedMalloc(NamedTuple):
    """The settings of `tune_malloc`, in bytes."""

    mmap_threshold: int
    trim_threshold: int


def tune_malloc(mmap_threshold: int = 1 << 30, trim_threshold: int = 1 << 30) -> TunedMalloc:
    """Make the allocator of this process reuse the memory of large arrays.

    Training with large, short-lived arrays becomes up to three times faster. The process keeps up
    to `trim_threshold` unused bytes. The setting applies to the whole process, including other
    libraries, until it ends.

    Parameters
    ----------
    mmap_threshold
        Size in bytes from which an allocation uses separate pages, which are returned to the system
        when it is freed.
    trim_threshold
        Bytes of free memory to keep at the end of the heap.

    Returns
    -------
    TunedMalloc
        The settings.

    Raises
    ------
    NotImplementedError
        If the C library is not glibc: nothing is changed.
    ValueError
        For sizes that are not between 0 and 2**31 - 1.
    RuntimeError
        If glibc refuses.
    """
    for name, size in (("mmap_threshold", mmap_threshold), ("trim_threshold", trim_threshold)):
        if not 0 <= size <= _GREATEST:
            raise ValueError(f"{name} must be between 0 and {_GREATEST}, but got {size}.")
    library, version = platform.libc_ver()
    if library != "glibc":
        raise NotImplementedError(
            f"tune_malloc sets glibc's allocator, but this process runs on "
            f"{library or platform.system()} {version}".rstrip()
            + ". Leave the call out: nothing was changed."
        )
    mallopt = ctypes.CDLL(None).mallopt
    for what, size in ((_M_MMAP_THRESHOLD, mmap_threshold), (_M_TRIM_THRESHOLD, trim_threshold)):
        if not mallopt(what, size):
            raise RuntimeError(
                f"glibc {version} refuses mallopt({what}, {size}). Give a smaller size."
            )
    return TunedMalloc(mmap_threshold, trim_threshold)
