"""Asking the condition of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..plan import Operand, RoutePlan, Step, Value, argument_value

if TYPE_CHECKING:
    from ..printer import Printer


class IfCondition(Step):
    """Run the call by another plan if a predicate of its arguments is true; else run steps.

    The other plan is a route of its own, so that `otherwise` is what it would be without it.

    Attributes
    ----------
    when
        The predicate.
    arguments, keywords
        What it is called with.
    plan
        The whole call, by the kernel with the condition.
    build
        Makes a route of `plan`.
    results
        The results of the call as `otherwise` leaves them.
    """

    when: Callable[..., Any]
    arguments: tuple[Operand, ...]
    keywords: tuple[tuple[str, Operand], ...]
    plan: RoutePlan
    build: Callable[[RoutePlan], Callable[..., Any]]
    results: tuple[Value, ...]
    otherwise: tuple[Step, ...]

    @property
    def calls_operators(self) -> bool:  # type: ignore[override]
        """Whether one of the two ways may call operators."""
        return self.plan.calls_operators or any([step.calls_operators for step in self.otherwise])

    @property
    def given(self) -> tuple[Value, ...]:
        """The arguments of the call, which the route of `plan` takes."""
        return tuple([argument_value(each) for each in self.plan.op.schema.arguments])

    @property
    def made(self) -> tuple[Value, ...]:
        """The results that are not arguments: those that the route of `plan` returns anew."""
        return () if any([each.is_argument for each in self.results]) else self.results

    def print(self, to: Printer) -> None:
        asked = [each.text(to) for each in self.arguments]
        asked += [to.by_name(name, each.text(to)) for name, each in self.keywords]
        route = to.bind("conditioned_route", self.build(self.plan))
        call = f"{route}({', '.join([to.name(each) for each in self.given])})"
        if self.made:
            call = f"{', '.join([to.name(each) for each in self.made])} = {call}"
        with to.block(f"if {to.bind('when', self.when)}({', '.join(asked)}):"):
            to.add(call)
        with to.block("else:"):
            to.print(self.otherwise)
