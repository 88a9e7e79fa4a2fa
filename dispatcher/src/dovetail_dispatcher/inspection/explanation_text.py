"""Prints explanations as trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table.kernels import FORMULA
from ..table.source_locations import short_place
from .decisions import Decision, Step
from .inner_calls import InnerCall
from .traces.spans import brief_launches

if TYPE_CHECKING:
    from .explanation import Explanation, FunctionExplanation


def operator_lines(e: Explanation, *, route: bool) -> list[str]:
    """Return the lines of the tree: the kernels first, then what decided.

    Parameters
    ----------
    route
        With the source text of the composed callable.
    """
    lines = [e.schema]
    if e.error is not None:
        lines += ["├─ the call raises", *[f"│    {line}".rstrip() for line in e.error.splitlines()]]
    lines.append("├─ kernels")
    for position, step in enumerate(e.chain, 1):
        mark, below = ("└─", "   ") if position == len(e.chain) else ("├─", "│  ")
        lines += [
            f"│  {mark} {step.key} [{_rule(step)}]: {step.kernel}",
            *[f"│  {below}  {line}" for line in _of_step(step)],
        ]
    lines += [] if e.chain else ["│  └─ none"]
    if e.launches is not None:
        lines.append(f"├─ launches {brief_launches(e.launches) or 'nothing'}")
    if e.calls or e.unknown:
        lines += ["├─ calls", *[f"│  {line}" for line in _calls(e.calls, e.unknown)]]
    lines += [f"├─ {_graph(e.records_graph, e.calls, e.unknown)}", "├─ arguments"]
    lines += _branches(
        [f"{a.name}: {a.value}: {', '.join(a.keys) or 'no keys'}" for a in e.arguments]
        or ["no tensors"]
    )
    taken = [key for key in e.excluded if key in e.merged or key in e.included]
    others = len(e.excluded) - len(taken)
    rest = f" ({others} more are excluded, but not among them)" if others else ""
    lines += [
        "├─ keys",
        f"│  ├─ of the arguments: {', '.join(e.merged) or 'none'}",
        f"│  ├─ + included: {', '.join(e.included) or 'none'}",
        f"│  ├─ - excluded: {', '.join(taken) or 'none'}{rest}",
        f"│  ├─ - fallen through: {', '.join(e.fallthrough) or 'none'}",
        f"│  └─ = {', '.join(e.keys) or 'none'}, of which the highest is {e.chosen}",
    ]
    defined = f"defined at {short_place(e.defined_at)}"
    if not e.route:
        return [*lines, f"└─ {defined}"]
    text = e.route.splitlines()
    how = f" of {len(text)} lines, not shown: as_text(route=True), --route"
    shown = [f"     {line}" for line in text] if route else []
    return [*lines, f"├─ {defined}", f"└─ route{'' if route else how}", *shown]


def function_lines(e: FunctionExplanation) -> list[str]:
    """Return the lines of the tree of a function."""
    place = [f"├─ at {short_place(e.source)}"] if e.source else []
    graph = f"├─ {_graph(e.records_graph, e.calls, e.unknown)}"
    calls = [f"   {line}" for line in _calls(e.calls, e.unknown)] or ["   no operator"]
    return [e.function, *place, graph, "└─ calls", *calls]


def _graph(records: bool, calls: Sequence[InnerCall], unknown: str | None) -> str:
    """Return whether a graph is recorded, and by which inner calls."""
    if not records:
        known = unknown is None
        return "a graph is not recorded" if known else "graph recording: depends on the data"
    names = [
        call.decision.operator
        for outer in calls
        for call in outer.walk()
        if call.decision.records_graph
    ]
    by = ", ".join(dict.fromkeys(names))
    return f"a graph is recorded, by {by}" if by else "a graph is recorded"


def _calls(calls: Sequence[InnerCall], unknown: str | None) -> list[str]:
    """Return the lines of a list of calls, and of why there may be more."""
    lines = []
    for position, call in enumerate(calls, 1):
        is_last = position == len(calls) and unknown is None
        below = "   " if is_last else "│  "
        lines.append(f"{'└─' if is_last else '├─'} {call.text}")
        inside = _calls(call.calls, call.unknown)
        indent = "│  " if inside else "   "
        lines += [f"{below}{indent}{line}" for line in _kernels(call.decision)]
        lines += [f"{below}{line}" for line in inside]
    if unknown is not None:
        lines.append(f"└─ not known: {unknown.splitlines()[0]}")
    return lines


def _kernels(decision: Decision) -> list[str]:
    """Return a line for each kernel that does something in a call."""
    return [
        f"{step.key}: {step.kernel.rpartition('.')[2]} at {short_place(step.source)}"
        + (f", {step.note.partition(';')[0]}" if step.convention == FORMULA else "")
        + (f", if {step.condition}" if step.condition else "")
        for step in decision.chain
        if step.convention != FORMULA or decision.records_graph
    ]


def _branches(texts: list[str]) -> list[str]:
    return [
        f"│  {'├─' if position < len(texts) else '└─'} {text}"
        for position, text in enumerate(texts, 1)
    ]


def _rule(step: Step) -> str:
    return f"if {step.condition}" if step.condition else step.rule


def _of_step(step: Step) -> list[str]:
    named = step.distribution is None or f"({step.distribution}" in step.registered_at
    whose = "" if named else f" by {step.distribution}"
    alias = f" for {step.registered_for}" if step.registered_for != step.key else ""
    place, _, plugin = step.registered_at.partition(" (")
    registered = (
        f"registered{alias} at {short_place(place)}{f' ({plugin}' if plugin else ''}{whose}"
    )
    return [f"at {short_place(step.source)}", registered, step.note]
