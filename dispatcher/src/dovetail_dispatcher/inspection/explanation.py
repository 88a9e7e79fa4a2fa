"""`explain`: says which kernels a call would run, and why, without running it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from dovetail_kernel import dispatch_state, state

from ..calls.composition import Composition, call_keys, compose
from ..calls.entry_support import bound_call, call_key
from ..calls.overload_resolution import resolve_overload
from ..calls.overloads import OpOverload, OpOverloadPacket
from ..calls.printer import printed
from ..registration.custom_op_definition import CustomOpDef
from ..table import registry
from ..table.operator import Operator
from ..table.places import short_place
from .argument_keys import ArgumentKeys, describe_arguments
from .decisions import Decision, Step, decide
from .dumps import existing_operator

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation(Decision):
    """Which kernels a call would run, and why. ``str`` prints a tree, `as_dict` and `as_json` give
    the same as data.

    Attributes
    ----------
    arguments
        The tensors of the call and their keys.
    route
        Source text of the composed callable; empty if there is none.
    error
        What the call would raise for want of a kernel; None if it would not.
    """

    arguments: tuple[ArgumentKeys, ...]
    route: str
    error: str | None

    def as_json(self, indent: int | None = 2) -> str:
        """Return the explanation as JSON text."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    def __str__(self) -> str:
        return "\n".join(_tree(self))


def explain(op: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """Say which kernels a call would run, and why, without running it.

    Parameters
    ----------
    op
        An operator: ``ops.aten.add``, ``ops.aten.add.Tensor``, a `CustomOpDef`, or a name,
        ``"aten::add.Tensor"``.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation

    Raises
    ------
    RuntimeError
        If there is no such operator, or the arguments do not fit its schema.
    """
    operator = _operator_of(op, args, kwargs)
    values = bound_call(operator, args, kwargs)
    key = call_key(operator, values)
    now = dispatch_state(state())
    decision = decide(operator, key, now)
    route, error = "", None
    try:
        route = printed(compose(Composition(operator, call_keys(key, now), key, now))).source
    except (NotImplementedError, RuntimeError) as reason:
        error = f"{type(reason).__name__}: {reason}"
    return Explanation(
        **{field.name: getattr(decision, field.name) for field in fields(decision)},
        arguments=describe_arguments(operator, values),
        route=route,
        error=error,
    )


def _operator_of(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverload):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        return resolve_overload(op._qualified_op_name, op._operators, args, kwargs)
    found = existing_operator(op)
    if not found.is_defined:
        registry.find_or_throw(found.name, found.overload)
    return found


def _tree(e: Explanation) -> list[str]:
    """Return the lines of the tree, of at most 100 columns where names are not longer."""
    taken = [key for key in e.excluded if key in e.merged or key in e.included]
    others = len(e.excluded) - len(taken)
    rest = f" ({others} more are excluded, but not among them)" if others else ""
    lines = [e.schema, f"├─ defined at {short_place(e.defined_at)}", "├─ arguments"]
    lines += _branches(
        [f"{a.name}: {a.value}: {', '.join(a.keys) or 'no keys'}" for a in e.arguments]
        or ["no tensors"]
    )
    lines += [
        "├─ keys",
        f"│  ├─ of the arguments: {', '.join(e.merged) or 'none'}",
        f"│  ├─ + included: {', '.join(e.included) or 'none'}",
        f"│  ├─ - excluded: {', '.join(taken) or 'none'}{rest}",
        f"│  ├─ - fallen through: {', '.join(e.fallthrough) or 'none'}",
        f"│  └─ = {', '.join(e.keys) or 'none'}, of which the highest is {e.chosen}",
        f"├─ a graph is {'' if e.records_graph else 'not '}recorded",
        "├─ kernels",
    ]
    for step in e.chain:
        lines += [
            f"│  ├─ {step.key} [{step.rule}]: {step.kernel}",
            *[f"│  │    {line}" for line in _of_step(step)],
        ]
    lines += ["│  └─ no further"] if e.chain else ["│  └─ none"]
    if e.error is not None:
        lines += ["└─ the call raises", *(f"     {line}" for line in e.error.splitlines())]
    else:
        lines += ["└─ route", *(f"     {line}" for line in e.route.splitlines())]
    return lines


def _branches(texts: list[str]) -> list[str]:
    return [
        f"│  {'├─' if position < len(texts) else '└─'} {text}"
        for position, text in enumerate(texts, 1)
    ]


def _of_step(step: Step) -> list[str]:
    named = step.distribution is None or f"({step.distribution}" in step.registered_at
    whose = "" if named else f" by {step.distribution}"
    alias = f" for {step.registered_for}" if step.registered_for != step.key else ""
    place, _, plugin = step.registered_at.partition(" (")
    registered = (
        f"registered{alias} at {short_place(place)}{f' ({plugin}' if plugin else ''}{whose}"
    )
    return [f"at {short_place(step.source)}", registered, step.note]
