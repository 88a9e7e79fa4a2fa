"""The names of `typing` by the path that annotations of scripted modules use."""

# ruff: noqa: UP035 - the old names are what the path is for

from typing import Any, Dict, List, Optional, Tuple, Union

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]
