"""Entries of functions and operators, compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dovetail_dispatcher.missing import MISSING
from dovetail_kernel.sockets import AUTOGRAD

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
        if isinstance(described, str):
            return ACCESSORS[described]
        return _source_of(described) if isinstance(described, tuple) else described

    return Entry(function, source, document)


def compiled_accessor(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled entry before a getter or method of tensors, or a method of guards."""
    if name not in ACCESSORS or type(function) is not FunctionType:
        return function
    if name.startswith("__"):  # no Python code may run between a block and its end
        return Entry(function, ACCESSORS[name])

    def number(text: Callable[..., Any]) -> int | None:
        from .classes import tell_classes

        tell_classes()
        needs_autograd = name in ("requires_grad_", "set_requires_grad", "grad")
        return ACCESSORS[name] if AUTOGRAD.is_filled or not needs_autograd else None

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
        form.overridden,
        form.compose,
        MISSING,
    )
