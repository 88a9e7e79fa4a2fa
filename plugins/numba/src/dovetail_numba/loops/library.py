"""All loops over numbers of one dtype."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from . import double, single
from .activations import activations
from .arithmetic import arithmetic, transcendental
from .collection import Collection
from .depthwise import add_depthwise
from .elementwise import loops_of
from .indexing import add_indexing
from .normalization import add_normalization
from .recurrence import add_recurrence
from .reductions import add_reductions
from .scans import add_scans
from .softmax import add_softmax
from .windows import add_windows


def library(dtype: Any) -> SimpleNamespace:
    """Return the loops over numbers of `dtype`, by name; they are compiled when they first run."""
    m: Any = single if dtype == "float32" else double
    made = loops_of(activations(m) | arithmetic(m), m.real)
    if m is single:
        made |= loops_of(transcendental(m), m.real)
    collection = Collection(m.real)
    for add in (
        add_softmax,
        add_normalization,
        add_scans,
        add_indexing,
        add_windows,
        add_depthwise,
        add_recurrence,
        add_reductions,
    ):
        add(m, collection)
    return SimpleNamespace(**made, **collection.made)


__all__ = ["library"]
