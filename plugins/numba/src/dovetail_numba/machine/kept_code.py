"""Machine code in files, one for each function and signature, with a checksum."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .code_folder import code_folder
from .progress import Progress, say

progress = Progress()


class KeptCode(_Cache):  # type: ignore[misc]  # Numba has no types
    """What Numba asks for the code of a function, and gives it to.

    A file that cannot be read, or is not whole, counts as none: the function is compiled again.

    Parameters
    ----------
    name
        Of the function, unlike that of any other.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def cache_path(self) -> str:
        return str(code_folder().path)

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        folder = code_folder().path
        if folder is None:
            return None
        # The processor and its features are part of `magic_tuple`.
        key = hashlib.sha256(f"{signature} {codegen.magic_tuple()}".encode()).hexdigest()
        return folder / f"{self._name}-{key[:16]}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None after saying that it is about to be compiled."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is not None and (payload := _read(path)) is not None:
            try:
                return CompileResult._rebuild(target_context, *pickle.loads(payload))
            except Exception:  # whatever a stale file raises
                say(f"{path} cannot be loaded, and is made again")
        progress.begin(self._name, code_folder().where)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; a full disk is no reason to fail."""
        path = self._path(sig, data.codegen)
        if path is None:
            return
        payload = dumps(data._reduce())
        try:
            _write(path, payload)
        except OSError as error:
            say(f"machine code of {self._name} is not kept: {error}")

    def enable(self) -> None:
        """Do nothing: code is always kept."""

    def disable(self) -> None:
        """Do nothing: code is always kept."""

    def flush(self) -> None:
        """Do nothing: every version has a folder of its own."""


def _read(path: Path) -> bytes | None:
    """Return what was kept in a file, None if there is none or it is not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, payload = content[:32], content[32:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def _write(path: Path, payload: bytes) -> None:
    """Write a file that others see whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


__all__ = ["KeptCode", "progress"]
