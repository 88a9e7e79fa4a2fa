"""Tables of rules by the name of the operator: batching rules, and rules for arrays without
data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Rules"]

Rule = TypeVar("Rule", bound=Callable[..., Any])


class Rules:
    """Rules by operator name; calling it with names gives the decorator that adds a rule."""

    def __init__(self) -> None:
        self.rules: dict[str, Callable[..., Any]] = {}

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Return a decorator that makes its function the rule of the operators `names`."""

        def add(fn: Rule) -> Rule:
            self.rules.update(dict.fromkeys(names, fn))
            return fn

        return add
