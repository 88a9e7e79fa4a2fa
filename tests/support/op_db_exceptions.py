"""The list of entries of PyTorch's table that do not pass, and why (`op_db_exceptions.yaml`)."""

from __future__ import annotations

from pathlib import Path

import yaml

PLACE = Path(__file__).parents[1] / "conformance"


def exceptions() -> dict[tuple[str, str], str]:
    """Return the reasons by entry and check."""
    return listed_in("op_db_exceptions.yaml")


def listed_in(name: str) -> dict[tuple[str, str], str]:
    """Return the reasons in a list of exceptions, by entry and check."""
    listed = yaml.safe_load((PLACE / name).read_text(encoding="utf-8")) or {}
    return {
        (entry, check): reason
        for entry, reasons in listed.items()
        for check, reason in reasons.items()
    }
