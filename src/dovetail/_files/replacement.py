"""Atomic replacement of files.

The bytes are written to a temporary file in the same folder, which is then renamed. If the process
is killed, the temporary file remains. Its name identifies its origin, and its lock, which ends with
the process, shows whether it is in use. The next save into the folder removes unlocked temporary
files.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

# Windows has none; there the system itself refuses to remove an open file.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

_TEMPORARY = re.compile(r"\.dovetail-save-[0-9a-f]{16}\.tmp")

Pieces = Iterable[memoryview | bytes]


def write_file(path: str, pieces: Pieces) -> None:
    """Write the pieces to a file.

    A regular file is replaced, and keeps its mode, owner and access list. Devices, pipes, files
    with hard links, and files whose owner cannot be preserved are written in place. A symbolic link
    stays a symbolic link.
    """
    try:
        # Not created, not truncated: the file must be writable, and it is known what it is.
        stream = open(os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb")  # noqa: SIM115
    except FileNotFoundError:
        target = os.path.realpath(path)
        if os.path.isdir(target):  # that of an empty path
            raise
        if os.path.lexists(target):  # another save has made it in the meantime
            return write_file(path, pieces)
        _replace(target, None, pieces)
        return
    with stream:
        known = os.fstat(stream.fileno())
        is_regular = stat.S_ISREG(known.st_mode)
        if is_regular and known.st_nlink == 1:
            target = os.path.realpath(path)
            if os.path.samestat(os.stat(target), known) and _replace(target, known, pieces):
                return
        if is_regular:
            stream.truncate(0)
        write_pieces(stream, pieces)
        if is_regular:
            os.fsync(stream.fileno())


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file in UTF-8, as `write_file` does."""
    write_file(os.fspath(path), [text.encode()])


def write_pieces(stream: IO[bytes], pieces: Pieces) -> None:
    """Write the pieces to a binary file object that may accept partial writes, and flush it: a full
    disk is an error of this call.
    """
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            written: Any = stream.write(rest)
            if not isinstance(written, int):  # it says nothing, so it took all
                break
            if written == 0:
                raise OSError(errno.EIO, f"{stream!r} takes no more bytes")
            rest = rest[written:]
    if hasattr(stream, "flush"):
        stream.flush()


def _replace(target: str, known: os.stat_result | None, pieces: Pieces) -> bool:
    """Write a new file and give it the name of `target`; False if it can't have the same owner."""
    folder = os.path.dirname(target)
    _remove_remains(folder)
    handle, temporary = _open_temporary(folder)
    try:
        with open(handle, "wb") as stream:
            if known is not None and not _take_over(temporary, target, known):
                os.unlink(temporary)
                return False
            write_pieces(stream, pieces)
            os.fsync(handle)
            if fcntl is None:
                stream.close()  # an open file can't be renamed there
            os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)
    return True


def _open_temporary(folder: str) -> tuple[int, str]:
    """Create and lock a temporary file; the system gives it the mode that new files have."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = os.path.join(folder, f".dovetail-save-{secrets.token_hex(8)}.tmp")
        try:
            handle = os.open(path, flags, 0o666)
        except PermissionError as error:
            error.add_note(
                "A new file is written into the folder, so that the old one stays whole until it "
                "is complete. Save to a folder that can be written; `save` also writes to a file "
                "as it is: with open(path, 'wb') as f: save(obj, f)."
            )
            raise
        if fcntl is None:
            return handle, path
        with suppress(OSError):  # a file system without locks: its remains are never removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, path
        # Another save took it for remains in the instant before it had its lock.
        os.close(handle)


def _remove_remains(folder: str) -> None:
    """Remove the temporary files of saves that were killed: those that no process has locked."""
    try:
        names = [name for name in os.listdir(folder) if _TEMPORARY.fullmatch(name)]
    except PermissionError:
        return  # a folder that may be written but not listed
    for path in [os.path.join(folder, name) for name in names]:
        with suppress(OSError):
            if fcntl is None:
                os.unlink(path)
                continue
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(path)  # under the lock, so that no save begins to use it
            finally:
                os.close(handle)


def _take_over(temporary: str, target: str, known: os.stat_result) -> bool:
    """Give the new file the owner, mode and access list of the old one; False if that can't be."""
    made = os.stat(temporary)
    if (made.st_uid, made.st_gid) != (known.st_uid, known.st_gid):
        try:
            os.chown(temporary, known.st_uid, known.st_gid)
        except PermissionError:
            return False
    shutil.copystat(target, temporary)
    return True


def _sync_folder(folder: str) -> None:
    """Make the new name lasting."""
    if fcntl is None:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # it may be written but not read, so it can't be opened
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not a thing of this file system
            raise
    finally:
        os.close(handle)
