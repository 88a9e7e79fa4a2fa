"""Pages that lie elsewhere in the repository, copied with their links mended."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .files import write_text

__all__ = ["copy_pages", "linked", "list_of_others"]

_LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<file>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
_WALKTHROUGHS = Path("examples/walkthroughs")
_NOTEBOOKS = Path("examples/notebooks")


def copy_pages(root: Path, made: Path) -> None:
    """Copy the walkthroughs and the notebooks into `made`."""
    folder = root / _WALKTHROUGHS
    names = sorted(each.stem for each in folder.glob("*.md") if each.stem != "README")
    for page in sorted(folder.glob("*.md")):
        target = made / "walkthroughs" / page.name.replace("README", "index")
        text = linked(page.read_text(encoding="utf-8"), page, target, root)
        if target.stem == "index":
            text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
        write_text(target, text)
    for notebook in sorted((root / _NOTEBOOKS).glob("*.ipynb")):
        write_text(made / "notebooks" / notebook.name, notebook.read_text(encoding="utf-8"))


def linked(text: str, page: Path, target: Path, root: Path) -> str:
    """Return the text of a page with links that lead from `target`, where it is read, to what they
    name from `page`, where it lies. A file that is not part of the site is named without a link.
    """

    def mended(match: re.Match[str]) -> str:
        file = (page.parent / match["file"]).resolve()
        on_site = _on_site(file, root)
        if on_site is None:
            return match["text"]
        link = os.path.relpath(on_site, target.parent)
        return f"[{match['text']}]({link}{match['anchor'] or ''})"

    return _LINK.sub(mended, text)


def _on_site(file: Path, root: Path) -> Path | None:
    """Return where the site has a file of the repository, or None."""
    if file.is_relative_to(root / "docs"):
        return file
    if file.suffix == ".md" and file.parent == root / _WALKTHROUGHS:
        made = root / "docs" / "_made" / "walkthroughs"
        return made / file.name.replace("README", "index")
    return None


def list_of_others(docs: Path) -> str:
    """Return a list of the pages that no page lists, so that each has its place in the menu."""
    pages = {page.stem: page.read_text(encoding="utf-8") for page in docs.glob("*.md")}
    lists = "".join(part for text in pages.values() for part in _TOCTREE.findall(text))
    others = sorted(name for name in pages if name != "index" and f"\n{name}\n" not in lists)
    if not others:
        return ""
    return "\n```{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(others) + "\n```\n"
