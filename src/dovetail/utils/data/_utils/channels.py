"""Objects from one process to another, with the elements of tensors and arrays in memory that both
see.

A message is a header of fixed size through a socket. What it is about lies in a file without a
name, whose descriptor comes with the header: when both processes have let go of it, or died, the
system frees the memory, however that came about. Small messages follow their header.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

import numpy as np

import dovetail_aten as aten
from dovetail_aten import Tensor, UntypedStorage
from dovetail_cpu import nameless_file

_HEADER: Final = struct.Struct("<?QQ")
_SMALL: Final = 1024
_ALIGNMENT: Final = 64


def pair() -> tuple[Channel, Channel]:
    """Return the two ends of a new channel."""
    first, second = socket.socketpair()
    return Channel(first), Channel(second)


class Channel:
    """One end of a line between two processes. It can be given to a new process."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def fileno(self) -> int:
        """Return the descriptor, for those that wait for messages."""
        return self._line.fileno()

    def close(self) -> None:
        """Forget this end in this process; other processes may still have it."""
        self._line.close()

    def hang_up(self) -> None:
        """Close this end for all processes; the other end then reads EOFError."""
        with suppress(OSError):  # the other process was first
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()

    def send(self, message: object) -> None:
        """Send an object; nothing is sent if it can't be pickled.

        Raises
        ------
        OSError
            If the other end is closed.
        Exception
            What pickling raises.
        """
        pieces = _pickled(message)
        sizes = struct.pack(f"<{len(pieces)}Q", *[piece.nbytes for piece in pieces])
        places, total = _places(len(sizes), pieces)
        if total <= _SMALL:
            content = bytearray(total)
            _fill(memoryview(content), sizes, places, pieces)
            self._line.sendall(_HEADER.pack(True, len(sizes), total) + content)
            return
        handle = nameless_file(total)
        try:
            with mmap.mmap(handle, total) as memory, memoryview(memory) as view:
                _fill(view, sizes, places, pieces)
            header = [_HEADER.pack(False, len(sizes), total)]
            socket.send_fds(self._line, header, [handle])
        finally:
            os.close(handle)

    def receive(self) -> Any:
        """Return the next object. Its tensors and arrays show the memory that was sent.

        Raises
        ------
        EOFError
            If the other end is closed.
        """
        header, handles, _, _ = socket.recv_fds(self._line, _HEADER.size, 1)
        header += self._read(_HEADER.size - len(header))
        follows, table, total = _HEADER.unpack(header)
        if follows:
            memory: Any = bytearray(self._read(total))
        else:
            memory = mmap.mmap(handles[0], total)
            os.close(handles[0])
        view = memoryview(memory)
        sizes = struct.unpack(f"<{table // 8}Q", view[:table])
        parts, place = [], table
        for size in sizes:
            place += -place % _ALIGNMENT
            parts.append(view[place : place + size])
            place += size
        return pickle.loads(parts[0], buffers=parts[1:])

    def _read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            piece = self._line.recv(count - len(content))
            if not piece:
                raise EOFError("the other process has closed its end")
            content += piece
        return content


def _places(start: int, pieces: Sequence[memoryview]) -> tuple[list[int], int]:
    """Return where pieces lie behind `start` bytes, and where the last ends."""
    places, place = [], start
    for piece in pieces:
        place += -place % _ALIGNMENT
        places.append(place)
        place += piece.nbytes
    return places, place


def _fill(
    view: memoryview, sizes: bytes, places: Sequence[int], pieces: Sequence[memoryview]
) -> None:
    view[: len(sizes)] = sizes
    for place, piece in zip(places, pieces, strict=True):
        view[place : place + piece.nbytes] = piece


def _pickled(message: object) -> list[memoryview]:
    """Return the pickle of an object, and the buffers that are not in it."""
    stream = BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(stream, 5, buffer_callback=buffers.append).dump(message)
    return [stream.getbuffer(), *[buffer.raw() for buffer in buffers]]


class _Pickler(pickle.Pickler):
    """Pickles storages of the cpu as buffers."""

    def reducer_override(self, obj: object) -> Any:
        """Return how the other process makes a tensor or a storage."""
        if isinstance(obj, Tensor):
            return _reduced_tensor(obj)
        if type(obj) is UntypedStorage and obj.device.type == "cpu":
            data = obj._host()
            return _storage_of_buffer, (pickle.PickleBuffer(data),)
        return NotImplemented


def _reduced_tensor(tensor: Tensor) -> Any:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    shows_part = tensor.is_cpu and tensor.untyped_storage().nbytes() > tensor.nbytes
    if type(tensor) is Tensor and shows_part and not vars(tensor):
        # Its own elements alone: the storage may be that of a whole dataset.
        copied: Any = tensor.detach().clone()
        return copied.requires_grad_(tensor.requires_grad).__reduce_ex__(5)
    return tensor.__reduce_ex__(5)


def _storage_of_buffer(buffer: Any) -> Any:
    """Return a storage that shows a buffer of memory."""
    line: Any = aten.from_numpy(np.frombuffer(buffer, dtype=np.uint8))
    return line.untyped_storage()
