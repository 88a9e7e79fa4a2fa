"""Functions that declarations name: a rule, or what makes the rule of an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_dispatcher import Operator


def makes_rules(function: Callable[..., object]) -> bool:
    """Return whether `function` makes the rule of an operator: its first parameter is ``op``."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_varnames[:1] == ("op",)


def made_for(op: Operator, function: Callable[..., Any], *details: Any) -> Callable[..., Any]:
    """Return the rule of `op`: `function`, or what it makes for `op`, given `details`."""
    rule: Callable[..., Any] = function(op, *details) if makes_rules(function) else function
    return rule
