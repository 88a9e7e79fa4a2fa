"""The names of `typing`, for annotations of scripted modules."""

# ruff: noqa: UP035 - the old names are what the path is for

from typing import Any, Dict, List, Optional, Tuple, Union

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = (
    BroadcastingList5
) = BroadcastingList6 = list
"""One number, or as many as the name says."""

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]
