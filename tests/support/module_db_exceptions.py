"""The list of entries of PyTorch's table of modules that do not pass, and why."""

from __future__ import annotations

from op_db_exceptions import listed_in


def exceptions() -> dict[tuple[str, str], str]:
    """Return the reasons by entry and check (`module_db_exceptions.yaml`)."""
    return listed_in("module_db_exceptions.yaml")
