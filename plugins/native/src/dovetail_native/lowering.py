"""Routes as programs: what plans are lowered to, and which stay Python text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher.calls.plan import RoutePlan
from dovetail_kernel import TensorBase, VersionCounter, tensor_class
from dovetail_kernel.keys.state import STATE

from ._core import set_classes
from .assembler import Assembler, NotLoweredError
from .dispatcher_steps import lower_all

refused: Final[Counter[str]] = Counter()
"""Why routes of this process are Python text, with how many of them."""

_is_set_up = False
_knows_autograd = False


def compiled_route(plan: RoutePlan) -> Callable[..., Any] | None:
    """Return the route that does what `plan` says, None if it has to be Python text."""
    _set_up()
    to = Assembler(plan)
    try:
        lower_all(plan.steps, to)
        to.emit("RETURN", operands=map(to.value, plan.results))
        return to.route()
    except NotLoweredError as reason:
        refused[str(reason)] += 1
        return None


def _set_up() -> None:
    """Tell the core the classes, when the first route is made: they are there by then. Autograd may
    be installed later.
    """
    global _is_set_up, _knows_autograd
    if not _is_set_up:
        set_classes(TensorBase, tensor_class(), VersionCounter, STATE)
        _is_set_up = True
    if not _knows_autograd and "dovetail_autograd" in sys.modules:
        from . import autograd_steps  # noqa: F401 - adds its steps

        _knows_autograd = True
