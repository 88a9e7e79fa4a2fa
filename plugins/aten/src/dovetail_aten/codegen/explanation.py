"""What each entry of the list of a selective build drags in, as lines to print."""

from __future__ import annotations

from collections.abc import Sequence

from .closure import Need, chain
from .generate import Build


def dragged_in(build: Build) -> dict[str, list[Need]]:
    """Return by entry of the list, or by what else asks for operators (the import of a module, the
    engine of autograd), the groups of operators that are in the build for its sake, in order of
    discovery. What several entries need stands at the first.
    """
    found: dict[str, list[Need]] = {}
    for group, need in build.reasons.items():
        first = chain(build.reasons, group)[0]
        entry = first.group if first.through == "listed" else first.through
        found.setdefault(entry, [])
        if need.through != "listed":
            found[entry].append(need)
    return found


def explanation(build: Build) -> list[str]:
    """Return the lines of a table: entry, what it drags in, by which operator and which of its
    composites and formulas.
    """
    rows: list[Sequence[str]] = [("entry", "drags in", "called by", "in")]
    for entry, needs in dragged_in(build).items():
        first = entry
        for need in needs:
            rows.append((first, need.group, need.by or "-", need.through))
            first = ""
        if not needs:
            rows.append((entry, "-", "", ""))
    widths = [max([len(row[column]) for row in rows]) for column in range(3)]
    lines = [
        "  ".join(
            [text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)]
        ).rstrip()
        for row in rows
    ]
    return [*lines, summary(build)]


def summary(build: Build) -> str:
    """Return how large the build is, as one line."""
    listed = [need for need in build.reasons.values() if need.through == "listed"]
    return (
        f"{len(listed)} operators listed, {len(build.reasons) - len(listed)} dragged in: "
        f"{len(build.included)} overloads of {len(build.functions)}, {len(build.derivatives)} "
        "derivatives"
    )
