"""Memory that is a file, or a copy of a buffer: what storages are made of by `from_file` and
`from_buffer`.
"""

from __future__ import annotations

import os
import sys
from operator import index as as_index
from typing import Any, Final

from dovetail_kernel import dtype as Dtype

from ...backend.devices import ready_backend

_CLOSED_TO_OTHERS: Final = 0o600
"""What a file that is made permits: its owner reads and writes."""


def bytes_of_file(filename: str, shared: bool, nbytes: int) -> Any:
    """Return the first bytes of a file as an array of uint8 on the cpu.

    Parameters
    ----------
    filename
        Its path.
    shared
        True: what is written goes to the file, and other processes see it; the file is made, or
        made longer, if need be. False: what is written stays in this process.
    nbytes
        How many bytes.

    Raises
    ------
    TypeError
        If the path is not a string.
    RuntimeError
        If the file cannot be opened, and for fewer bytes than asked for.
    """
    if not isinstance(filename, str):
        raise TypeError(
            f"argument 1 must be str, not {type(filename).__name__}. Give the path as a string."
        )
    size = as_index(nbytes)
    if size < 0:
        raise RuntimeError(
            f"unable to mmap {size} bytes from file <{filename}>. Give the number of bytes."
        )
    handle = _opened(filename, shared)
    try:
        length = os.fstat(handle).st_size
        if length < size and not shared:
            raise RuntimeError(
                f"file <{filename}> size <{length}> is smaller than the required mapping size "
                f"<{size}>. Ask for no more bytes than it has."
            )
        if length < size:
            os.ftruncate(handle, size)
        arrays: Any = ready_backend("cpu").arrays
        if not size:  # no pages of a file
            return arrays.asarray(memoryview(bytearray()))
        if shared:
            pages, handle = arrays.shared_allocator.attach(handle, size), -1
            return arrays.bytes_at(pages)
        import mmap  # it is rarely needed

        return arrays.asarray(memoryview(mmap.mmap(handle, size, access=mmap.ACCESS_COPY)))
    finally:
        if handle >= 0:
            os.close(handle)


def _opened(filename: str, shared: bool) -> int:
    flags = (os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    try:
        return os.open(filename, flags, _CLOSED_TO_OTHERS)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from error


def bytes_of_buffer(
    buffer: Any, byte_order: str | None, count: int, offset: int, wanted: Dtype
) -> Any:
    """Return a copy of elements of a buffer, their bytes in the order of this machine, as an array
    of uint8 on the cpu.

    Parameters
    ----------
    buffer
        An object with Python's buffer protocol.
    byte_order
        "native", "little" or "big": how they lie there.
    count
        How many elements; -1: all behind `offset`.
    offset
        Number of bytes to skip.
    wanted
        What the elements are.

    Raises
    ------
    ValueError
        For any other order, for more elements than there are, if bytes are left over, and if
        `offset` is not within the buffer.
    """
    if byte_order not in ("native", "little", "big"):
        raise ValueError(
            f"invalid byte_order {byte_order!r} (expected 'big', 'little', or 'native')"
        )
    memory, size = memoryview(buffer).cast("B"), wanted.itemsize
    if not 0 <= offset <= memory.nbytes:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({memory.nbytes}), but "
            f"got {offset}"
        )
    rest = memory.nbytes - offset
    if count < 0 and rest % size:
        raise ValueError(
            f"buffer size ({rest}) must be a multiple of element size ({size}). Give count."
        )
    length = rest if count < 0 else count * size
    if length > rest:
        raise ValueError(
            f"buffer has only {rest} elements after offset {offset}, but specified a size of "
            f"{count}. Ask for fewer."
        )
    found = memory[offset : offset + length]
    copied = bytearray(found)
    if byte_order not in ("native", sys.byteorder):
        part = size // 2 if wanted.is_complex else size
        for start in range(0, length, part):
            copied[start : start + part] = copied[start : start + part][::-1]
    return ready_backend("cpu").arrays.asarray(memoryview(copied))
