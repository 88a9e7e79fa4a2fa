"""Names of node classes: PyTorch's, numbered as PyTorch numbers them."""

from __future__ import annotations

import re

from ..errors import DerivativeError
from .entries import Entry

NON_DIFFERENTIABLE = "non_differentiable"
ENTRY_KEYS = ("name", "output_differentiability", "node")
"""Keys of an entry that are not formulas."""


def node_name(entry: Entry, numbers: dict[str, int]) -> str:
    """Return PyTorch's name of the node: the operator's in CamelCase and a number per such name."""
    base = entry.text("name").partition("(")[0].rpartition("::")[2].partition(".")[0]
    prefix = "".join([part.title() for part in base.split("_")]) + "Backward"
    prefix = prefix.replace("ForwardBackward", "Backward")
    number = numbers.get(prefix, 0)
    if "node" in entry.values:
        given = entry.text("node")
        if not given.isidentifier():
            raise DerivativeError(
                entry.lines["node"],
                f"'{given}' is no name of a node.",
                f"Write {prefix} and a number.",
            )
        match = re.fullmatch(re.escape(prefix) + r"(\d+)", given)
        if match is None:
            return given
        number = int(match[1])
    elif not _differentiable_keys(entry):
        return prefix
    numbers[prefix] = number + 1
    return f"{prefix}{number}"


def _differentiable_keys(entry: Entry) -> list[str]:
    return [
        key
        for key in entry.values
        if key not in ENTRY_KEYS and entry.text(key) != NON_DIFFERENTIABLE
    ]
