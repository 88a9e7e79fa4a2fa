"""The list of entries of PyTorch's table that do not pass, and why (`op_db_exceptions.yaml`)."""

from __future__ import annotations

from pathlib import Path

import yaml

LIST = Path(__file__).parents[1] / "conformance" / "op_db_exceptions.yaml"


def exceptions() -> dict[tuple[str, str], str]:
    """Return the reasons by entry and check."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8")) or {}
    return {
        (entry, check): reason
        for entry, reasons in listed.items()
        for check, reason in reasons.items()
    }
