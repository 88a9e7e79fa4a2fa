"""Files that are written only if their text is another one, so that nothing is built in vain."""

from __future__ import annotations

from pathlib import Path

__all__ = ["without_root", "write_text"]

_ROOT = str(Path(__file__).resolve().parents[2]) + "/"


def write_text(path: Path, text: str) -> None:
    """Write `text`, and the folders above."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def without_root(text: str) -> str:
    """Return `text` with paths from the root of the repository on."""
    return text.replace(_ROOT, "")
