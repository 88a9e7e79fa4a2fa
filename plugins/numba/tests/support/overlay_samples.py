"""Which cases of a long list are run: a sample that a seed says."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

SEED = int(os.environ.get("DOVETAIL_FIRST_OVERLAID") or random.randrange(10_000))
"""Printed in the header of the run; DOVETAIL_FIRST_OVERLAID repeats it."""


def sampled(cases: Sequence[Case], count: int = 60) -> list[Case]:
    """Return some cases, or all with ``DOVETAIL_OVERLAID=all``."""
    if os.environ.get("DOVETAIL_OVERLAID") == "all":
        return list(cases)
    return random.Random(SEED).sample(list(cases), min(count, len(cases)))


__all__ = ["SEED", "sampled"]
