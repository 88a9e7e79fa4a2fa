"""Checksum of the C sources. Read by the build too, which cannot import the package: this file
imports the standard library alone, and little of it, because `import dovetail` reads it in a
checkout.
"""

from __future__ import annotations

import os
from binascii import crc32
from typing import Final

FOLDERS: Final = ("core", "engine", "kernels", "random", "table")


def source_files(root: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the C files and headers below `root`, the distribution's folder, in
    order.
    """
    return [
        f"{folder}/{name}"
        for folder in FOLDERS
        for name in sorted(os.listdir(os.path.join(root, folder)))
        if name.endswith((".c", ".h"))
    ]


def source_hash(root: str | os.PathLike[str]) -> str:
    """Return a checksum of names and contents of the C sources, of 8 hexadecimal digits."""
    checksum = 0
    for path in source_files(root):
        with open(os.path.join(root, path), "rb") as file:
            checksum = crc32(f"\0{path}\0".encode() + file.read(), checksum)
    return f"{checksum:08x}"
