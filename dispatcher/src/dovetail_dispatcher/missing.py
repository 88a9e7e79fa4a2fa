"""The default of parameters that are required."""

from __future__ import annotations

from typing import Any, Final


class _Missing:
    def __repr__(self) -> str:
        return "..."  # as stubs spell a default that they do not tell


MISSING: Final[Any] = _Missing()
"""Default of a function's required parameters where NumPy's names may give them: a call without
them gets as far as what says which is missing.
"""
