"""The pinned texts of routes: `tests/golden/routes`, a file per family, and a program that writes
them.

    python tests/support/golden_routes.py                   say which routes differ from what is
    pinned python tests/support/golden_routes.py --write           pin the present texts, unless one
    does more than before python tests/support/golden_routes.py --write --allow-growth

A section is the call and its state, what is counted in the text, what its global names are bound
to, and the text; or the title of an earlier section of the same file that has all of these.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from route_texts import RouteText, grown

FOLDER: Final = Path(__file__).parents[1] / "golden" / "routes"
_TITLE, _COUNTS, _BOUND, _AS = "=== ", "counts: ", "bound: ", "as: "
_HINT: Final = (
    "A route may become shorter, never do more. Make it do less, or accept the new texts: "
    "python tests/support/golden_routes.py --write (--allow-growth if a route must do more, and "
    "say why in the commit)."
)

Texts = dict[str, RouteText]


def present_routes() -> dict[str, Texts]:
    """Return the texts by family as they are now, from a fresh process: what others registered must
    not show.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")
    }
    environment["OMP_NUM_THREADS"] = "1"  # with several, routes look at sizes too
    command = [sys.executable, __file__, "--collect"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the routes could not be collected:\n{done.stderr}")
    return {
        family: {title: RouteText(*text) for title, text in texts.items()}
        for family, texts in json.loads(done.stdout).items()
    }


def pinned_routes(family: str) -> Texts:
    """Return the pinned texts of a family; none if it has no file yet."""
    path = FOLDER / f"{family}.txt"
    return parsed(path.read_text("utf-8")) if path.exists() else {}


def problems(pinned: Texts, now: Texts) -> list[str]:
    """Return what is wrong with the texts of a family: those that do more than they did, that are
    gone or new.
    """
    found = [
        f"{title}: the call has no such route any more." for title in pinned if title not in now
    ]
    found += [f"{title}: the route is not pinned yet." for title in now if title not in pinned]
    for title, text in now.items():
        if title in pinned and (reasons := grown(pinned[title], text)):
            found.append(f"{title}: {'; '.join(reasons)}\n{_difference(pinned[title], text)}")
    return [*found, _HINT] if found else []


def written(texts: Texts) -> str:
    """Return the texts as they are kept in a file."""
    first: dict[str, str] = {}
    sections = []
    for title, text in texts.items():
        content = _content(text)
        same = first.setdefault(content, title)
        sections.append(f"{_TITLE}{title}\n{content if same is title else _AS + same}\n")
    return "\n".join(sections)


def _difference(pinned: RouteText, now: RouteText) -> str:
    before, after = ([_bound_line(text), *text.source.splitlines()] for text in (pinned, now))
    return "\n".join(difflib.unified_diff(before, after, "pinned", "now", lineterm="", n=2))


def _content(text: RouteText) -> str:
    return f"{_counts_line(text)}\n{_bound_line(text)}\n{text.source}"


def _counts_line(text: RouteText) -> str:
    return _COUNTS + ", ".join(f"{what} {count}" for what, count in text.counts.items())


def _bound_line(text: RouteText) -> str:
    return _BOUND + ", ".join(f"{name}={value}" for name, value in text.bound.items())


def parsed(content: str) -> Texts:
    """Return the texts that are kept in a file with `content`."""
    earlier: Texts = {}
    for section in filter(None, f"\n{content}".split(f"\n{_TITLE}")):
        title, counts, *rest = section.strip("\n").split("\n")
        if counts.startswith(_AS):
            earlier[title] = earlier[counts.removeprefix(_AS)]
            continue
        bound, *source = rest
        pairs = [pair.partition("=") for pair in bound.removeprefix(_BOUND).split(", ") if pair]
        text = RouteText("\n".join(source), {name: value for name, _, value in pairs})
        if counts != _counts_line(text):
            raise ValueError(
                f"{title}: the file says {counts!r}, but its text has {_counts_line(text)!r}. "
                f"{_HINT}"
            )
        earlier[title] = text
    return earlier


def main() -> int:
    """Compare, or write what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="pin the present texts")
    parser.add_argument(
        "--allow-growth", action="store_true", help="even where a route does more than before"
    )
    parser.add_argument("--collect", action="store_true", help="print the present texts as JSON")
    options = parser.parse_args()
    if options.collect:
        from route_calls import collect

        found = {
            family: {title: (text.source, text.bound) for title, text in texts.items()}
            for family, texts in collect().items()
        }
        print(json.dumps(found))
        return 0
    now = present_routes()
    refused = []
    for family, texts in now.items():
        pinned = pinned_routes(family)
        if not options.write:
            refused += problems(pinned, texts)
        elif not options.allow_growth:
            kept = {title: text for title, text in pinned.items() if title in texts}
            refused += problems(
                kept, {title: text for title, text in texts.items() if title in kept}
            )
    for line in refused:
        print(line)
    if refused:
        return 1
    if options.write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for family, texts in now.items():
            (FOLDER / f"{family}.txt").write_text(written(texts), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
