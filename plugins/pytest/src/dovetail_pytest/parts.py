"""What options say as ``2/3``: a part of how many."""

from __future__ import annotations

import re

import pytest

ALL = "all"


def part_in(text: str, option: str) -> tuple[int, int] | None:
    """Return which part of how many a text says, or None for all.

    Parameters
    ----------
    text
        ``"2/3"``, parts counted from 1, or ``"all"``.
    option
        Who says it, for the error.

    Raises
    ------
    UsageError
        If it says neither.
    """
    if text == ALL:
        return None
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise pytest.UsageError(
            f"{option} is {text!r}. Give a part of how many, from 1, such as 2/3, or '{ALL}'."
        )
    return part, parts


def report_part(what: str, chosen: tuple[int, int] | None) -> str | None:
    """Return the line that says which part is run, and how to have it again; None for all."""
    if chosen is None:
        return None
    part, parts = chosen
    return f"{what}: part {part} of {parts} (--{what} {part}/{parts})"
