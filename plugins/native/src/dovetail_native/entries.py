"""Entries of functions and operators, compiled."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
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
        if isinstance(described, list) and described[0] == "leaf of subclass":
            _expect_gradients()
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
        makes_leaf = name in ("requires_grad_", "set_requires_grad")
        if makes_leaf:
            _expect_gradients()
        needs_autograd = makes_leaf or name == "grad"
        return ACCESSORS[name] if AUTOGRAD.is_filled or not needs_autograd else None

    return Entry(function, number)


def _expect_gradients() -> None:
    """Import what lowers recording and what goes backward, when the first tensor may require grad:
    later it would be part of the time of the first step.
    """
    if AUTOGRAD.is_filled:
        import_module("dovetail_native.autograd_steps")
        import_module("dovetail_native.engine_loop")


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
