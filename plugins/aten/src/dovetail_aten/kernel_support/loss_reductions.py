"""Reductions of losses by their numbers."""

from __future__ import annotations

NONE, MEAN, SUM = range(3)
