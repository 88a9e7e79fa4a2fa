"""Entries of functions and operators, compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dovetail_dispatcher.missing import MISSING

from ._core import ACCESSORS, MAX_PARAMETERS, PARAMETER_KINDS, Entry

if TYPE_CHECKING:
    from dovetail_dispatcher.calls import EntryForm
    from dovetail_dispatcher.sockets import Documenter, EntryDescriber

    from ._core import EntrySource


def compiled_entry(
    function: Callable[..., Any], describe: EntryDescriber, document: Documenter | None = None
) -> Callable[..., Any]:
    """Return the compiled entry before `function`, its text."""
    if type(function) is not FunctionType:
        return function

    def source(text: Callable[..., Any]) -> EntrySource:
        from .classes import tell_classes

        tell_classes()
        described = describe(text)
        return _source_of(described) if isinstance(described, tuple) else described

    return Entry(function, source, document)


def compiled_accessor(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled entry before a getter or method that reads an attribute of a tensor."""
    if name not in ACCESSORS or type(function) is not FunctionType:
        return function

    def number(text: Callable[..., Any]) -> int:
        from .classes import tell_classes

        tell_classes()
        return ACCESSORS[name]

    return Entry(function, number)


def _source_of(form: EntryForm) -> EntrySource:
    """Return a form as the core reads it; None if it has too many parameters."""
    if len(form.parameters) > MAX_PARAMETERS:
        return None
    parameters = tuple(
        [
            (p.name, PARAMETER_KINDS[p.kind], p.is_optional, p.repeat, p.default, p.classes)
            for p in form.parameters
        ]
    )
    return (
        form.routes,
        parameters,
        form.positional,
        form.is_variadic,
        form.own,
        form.leading,
        form.finish,
        form.finished,
        MISSING,
    )
