"""Access to parts of a file, by reading or memory mapping."""

from __future__ import annotations

import mmap
import os
from typing import IO, Any

import numpy as np

from .checked_json import FormatError


class ByteSource:
    """A file whose parts are read on access, each into separate memory.

    Parameters
    ----------
    stream : binary file object
        A seekable file.
    """

    is_mapped = False

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.size = stream.seek(0, os.SEEK_END)

    def piece(self, start: int, stop: int) -> Any:
        """Return the bytes from `start` to `stop` as a writable NumPy array.

        Raises
        ------
        FormatError
            If the file is too short.
        """
        if stop > self.size:
            raise FormatError(f"it is truncated: it has {self.size} bytes and needs {stop}")
        self.stream.seek(start)
        data = np.empty(stop - start, dtype=np.uint8)
        rest = data.data
        while rest:
            piece = self.stream.read(min(len(rest), 1 << 24))
            if not piece:
                raise FormatError("it is truncated: it became shorter while it was read")
            rest[: len(piece)] = piece
            rest = rest[len(piece) :]
        return data


class MappedSource(ByteSource):
    """A memory-mapped file: pages are read on access, and writes stay in this process."""

    is_mapped = True

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        if not self.size:
            raise FormatError("it is empty")
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        self._bytes = np.frombuffer(mapped, dtype=np.uint8)

    def piece(self, start: int, stop: int) -> Any:
        """Return the bytes from `start` to `stop` without copying."""
        if stop > self.size:
            raise FormatError(f"it is truncated: it has {self.size} bytes and needs {stop}")
        return self._bytes[start:stop]
