"""Pages of memory that processes share: files without names, which a process hands to another."""

from __future__ import annotations

import mmap
import os


def nameless_file(size: int) -> int:
    """Return the descriptor of a file in memory, which is removed with its last descriptor.

    Raises
    ------
    OSError
        If there is not enough memory.
    """
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("dovetail")
    else:
        import tempfile

        with tempfile.TemporaryFile() as stream:
            handle = os.dup(stream.fileno())
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)  # else too little memory would be a SIGBUS later
        else:
            os.ftruncate(handle, size)
    except BaseException:
        os.close(handle)
        raise
    return handle


class SharedPages:
    """The pages of a nameless file.

    Parameters
    ----------
    nbytes
        How many bytes.
    handle
        The descriptor of the file, which is the pages' from now on. Default: a new file.

    Attributes
    ----------
    handle
        The descriptor.
    memory
        The bytes.
    """

    def __init__(self, nbytes: int, handle: int | None = None) -> None:
        size = max(nbytes, 1)
        self.handle = nameless_file(size) if handle is None else handle
        try:
            self.memory = mmap.mmap(self.handle, size)
        except BaseException:
            os.close(self.handle)
            self.handle = -1
            raise

    def __del__(self) -> None:
        if getattr(self, "handle", -1) >= 0:
            os.close(self.handle)
            self.handle = -1
