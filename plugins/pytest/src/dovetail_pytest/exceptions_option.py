"""``--exceptions FILE``: tests that are known to fail on the device that the suite runs on."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("dovetail").addoption(
        "--exceptions",
        metavar="FILE",
        default=None,
        help="tests that are known to fail on the device of --backend: a line for each with the "
        "end of its id, in which * stands for anything, | and the reason",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the tests to fail: one that passes fails the run."""
    path = config.getoption("--exceptions", None)
    if path is None:
        return
    known = exceptions_in(Path(path).read_text(encoding="utf-8"))
    for item in items:
        for pattern, reason in known:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def exceptions_in(text: str) -> list[tuple[str, str]]:
    """Return the patterns and reasons in the text of a file of exceptions.

    Raises
    ------
    UsageError
        For a line without a reason.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = (part.strip() for part in line.partition("|"))
        if not reason:
            raise pytest.UsageError(
                f"line {number} of the exceptions gives no reason: {line!r}. Write: pattern | why"
            )
        # Ids have brackets, which mean a set of characters in a pattern.
        found.append((f"*{pattern.replace('[', '[[]')}", reason))
    return found
