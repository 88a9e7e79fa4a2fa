"""Where compiled steps of optimizers are found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dovetail_dispatcher.sockets import COMPILED_OPERATOR


@cache
def compiled_step(rule: str) -> Any:
    """Return the compiled kernel of an optimizer's rule, None without compiled code."""
    found = COMPILED_OPERATOR.plug(f"optimizer_step.{rule}", _not_taken)
    return None if found is _not_taken else found


def _not_taken(arrays: list[Sequence[object]], numbers: list[tuple[float, ...]]) -> bool:
    """Take no step: what no kernel takes is left to the rule in Python."""
    return False
