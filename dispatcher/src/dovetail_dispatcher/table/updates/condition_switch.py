"""Switches all kernels with conditions off for a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import computed_table, registry


@contextmanager
def without_conditions() -> Iterator[None]:
    """Skip kernels with conditions in all calls that run during a ``with`` block.

    The setting applies to the whole process, including other threads.
    """
    _switch(1)
    try:
        yield
    finally:
        _switch(-1)


def _switch(step: int) -> None:
    with registry.lock:
        affected = [op for op in registry.all_operators() if computed_table.has_conditions(op)]
        with registry.changing(affected):
            computed_table.conditions_are_off += step
