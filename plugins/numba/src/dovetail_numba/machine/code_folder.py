"""The folder where machine code is kept: the user's cache, else a temporary one, else none."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from .progress import say

VARIABLE: Final = "DOVETAIL_NUMBA_CACHE"
"""Names another folder than the user's cache."""


class CodeFolder:
    """Where machine code is kept.

    Attributes
    ----------
    path
        The folder; None: nowhere, and it is lost with the process.
    where
        That in words.
    """

    def __init__(self, path: Path | None, where: str) -> None:
        self.path = path
        self.where = where


@cache
def code_folder() -> CodeFolder:
    """Return the folder for the code of this version of the package, on first use made and tried.

    Machine code of other sources, or by another Numba, lies in another folder.
    """
    wanted = base_folder() / fingerprint()
    if _is_usable(wanted):
        return CodeFolder(wanted, f"in {wanted}")
    try:
        made = Path(tempfile.mkdtemp(prefix="dovetail-numba-"))  # readable by this user alone
    except OSError:
        say(f"machine code is kept in memory alone: {wanted} and {tempfile.gettempdir()} cannot "
            f"be written. Name a folder that can: {VARIABLE}=...")  # fmt: skip
        return CodeFolder(None, "in memory")
    _remove_at_exit(made)
    say(f"machine code is kept in {made} until this process ends: {wanted} cannot be written. "
        f"Name a folder that can: {VARIABLE}=...")  # fmt: skip
    return CodeFolder(made, f"in {made}")


def base_folder() -> Path:
    """Return the folder for the code of all versions: `VARIABLE`, else one in the user's cache."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "dovetail-numba"


@cache
def fingerprint() -> str:
    """Return a name that changes with whatever machine code is made from: the sources of this
    package, and the versions of Numba, llvmlite and Python.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted([*package.glob("loops/*.py"), *package.glob("machine/*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for name in ("numba", "llvmlite"):
        digest.update(f"{name} {version(name)}\0".encode())
    digest.update(sys.version.encode())
    return digest.hexdigest()[:16]


def _is_usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, RuntimeError):  # there may be no home folder
        return False


def _remove_at_exit(folder: Path) -> None:
    import atexit

    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a child of a fork uses it as well
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


__all__ = ["VARIABLE", "CodeFolder", "base_folder", "code_folder", "fingerprint"]
