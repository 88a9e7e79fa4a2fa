"""Where the modules lie that have moved since 0.1.0; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[str, str]] = {}
"""Modules that plugins were told to import, by their old names."""

FORWARDED: Final[dict[str, str]] = {}
"""Modules that pickles name, by their old names."""

FAMILIES: Final[dict[str, str]] = {}
"""Families of kernels, by the old names that backends gave them."""
