"""Where modules lie that moved; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[str, str]] = {}
"""Modules that plugins were told to import, by their old names."""

FORWARDED: Final[dict[str, str]] = {
    "shared_pages": "memory.shared_pages",
    "threads": "parallel.threads",
}
"""Modules that pickles name, by their old names."""
