"""Routes as programs: what plans are lowered to, and which stay Python text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from numpy import ndarray

from dovetail_dispatcher.calls import RoutePlan, argument_value

from ._core import run_backward
from .assembler import Assembler, NotLoweredError
from .classes import tell_classes
from .dispatcher_steps import lower_all

PROGRAM: Final = "program"
routes: Final[Counter[str]] = Counter()
"""How many routes of this process are programs, and why how many others are Python text."""

_knows_autograd = False


class _Loop:
    """The engine's loop as autograd calls it. Its parts are imported when it first runs: many
    processes never go backward.
    """

    array_type: type[Any] = ndarray

    def __init__(self) -> None:
        self.run: Callable[..., None] = self._first_run

    def _first_run(self, *arguments: Any) -> None:
        from . import engine_loop  # noqa: F401 - gives the core its parts

        self.run = run_backward
        run_backward(*arguments)


def compiled_route(plan: RoutePlan) -> Callable[..., Any] | None:
    """Return the route that does what `plan` says, None if it has to be Python text."""
    _set_up()
    try:
        to = Assembler(map(argument_value, plan.op.schema.arguments))
        lower_all(plan.steps, to)
        to.emit("RETURN", operands=map(to.value, plan.results))
        made = to.route(str(plan.op.qualified_name), plan)
    except NotLoweredError as reason:
        routes[str(reason)] += 1
        return None
    routes[PROGRAM] += 1
    return made


def _set_up() -> None:
    """Tell the core the classes, and offer the loop to autograd, which may be imported later."""
    global _knows_autograd
    tell_classes()
    if not _knows_autograd and "dovetail_autograd" in sys.modules:
        from dovetail_autograd.sockets import COMPILED_LOOP

        COMPILED_LOOP.fill(_Loop())
        _knows_autograd = True
