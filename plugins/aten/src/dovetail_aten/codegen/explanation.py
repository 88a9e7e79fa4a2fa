"""What each entry of the list of a selective build drags in, as lines to print."""

from __future__ import annotations

from collections.abc import Sequence

from .closure import Need, chain
from .generate import Build


def dragged_in(build: Build) -> dict[str, list[Need]]:
    """Return the groups of operators that each entry of the list, or other cause (the import of a
    module, the engine of autograd), adds to the build, in order of discovery. A group that several
    entries need is listed at the first.
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
    """Return the lines of a table: each entry, the operators that it adds, and the operator,
    composite or formula that calls them.
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
    """Return a line with the size of the build."""
    listed = [need for need in build.reasons.values() if need.through == "listed"]
    return (
        f"{len(listed)} operators listed, {len(build.reasons) - len(listed)} dragged in: "
        f"{len(build.included)} overloads of {len(build.functions)}, {len(build.derivatives)} "
        "derivatives"
    )
