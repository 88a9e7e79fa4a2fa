"""The list of entries of PyTorch's table whose results lie otherwise in memory, and why."""

from __future__ import annotations

from op_db_exceptions import listed_in


def exceptions() -> dict[tuple[str, str], str]:
    """Return the reasons by entry and check (`layout_exceptions.yaml`)."""
    return listed_in("layout_exceptions.yaml")
