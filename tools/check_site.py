"""Checks the built site: ``python tools/check_site.py docs/_build/html [--browser]``.

Every link inside the site leads to a file and an anchor that are there, and no page loads anything
from a network. With ``--browser``, headless Chromium opens every page from disk: no error in the
console, no page wider than a telephone.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NOT_LOADED = {"canonical", "index", "search", "next", "prev", "author", "genindex"}
NARROW = 390


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        is_named_only = tag == "link" and NOT_LOADED & set(found.get("rel", "").split())
        if tag in LOADED and LOADED[tag] in found and not is_named_only:
            self.loaded.append(found[LOADED[tag]])


def broken(folder: Path) -> list[str]:
    """Return what is wrong with links and loaded files, one line each."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in page.loaded:
            if urlsplit(link).scheme in ("http", "https") or link.startswith("//"):
                problems.append(f"{name}: loads {link} from a network")
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                problems.append(f"{name}: {link} leads to no file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{name}: {link} leads to no anchor")
    return problems


def browsed(folder: Path, pictures: Path | None) -> list[str]:
    """Return what a browser complains of, one line each; take pictures of the pages."""
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        for width in (1280, NARROW):
            tab = browser.new_page(viewport={"width": width, "height": 900})
            said: list[str] = []
            tab.on("console", partial(_note, said))
            tab.on("pageerror", partial(_note_error, said))
            for path in sorted(folder.rglob("*.html")):
                said.clear()
                tab.goto(path.resolve().as_uri())
                name = path.relative_to(folder)
                problems += [f"{name} at {width}: {text}" for text in said]
                wide = tab.evaluate("document.documentElement.scrollWidth")
                if wide > width + 1:
                    problems.append(f"{name} at {width}: is {wide} wide")
                if pictures is not None and name.parts[0] != "_made":
                    pictures.mkdir(parents=True, exist_ok=True)
                    tab.screenshot(path=pictures / f"{path.stem}_{width}.png")
                if path.stem == "dispatch" and tab.locator("#dispatch ol li").count() == 0:
                    problems.append(f"{name} at {width}: shows no kernels")
        browser.close()
    return problems


def _note(said: list[str], message: Any) -> None:
    if message.type in ("error", "warning"):
        said.append(message.text)


def _note_error(said: list[str], error: Any) -> None:
    said.append(str(error))


def chromium() -> str | None:
    """Return the Chromium of the machine, or None for the one of playwright."""
    from shutil import which

    return which("chromium") or which("chromium-browser") or which("google-chrome")


def main() -> None:
    """Print what is wrong, and fail if something is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    problems = broken(arguments.folder)
    if arguments.browser:
        problems += browsed(arguments.folder, arguments.pictures)
    count = len(list(arguments.folder.rglob("*.html")))
    print("\n".join([*problems, f"{count} pages, {len(problems)} problems"]))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
