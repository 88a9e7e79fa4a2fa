"""The signatures of functions as people call them: what their schemas say, in place of parameters
that functions have to be called fast, and to take NumPy's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, Final, TypedDict, TypeVar

from dovetail_dispatcher import FunctionSchema, Operator
from dovetail_dispatcher.calls import LateSignature, parameters_of, signature_of
from dovetail_dispatcher.missing import MISSING
from dovetail_kernel import Layout

from ..templates.python_function import python_schema, variadic_argument
from .overloads import Overloads


class FactoryOptions(TypedDict, total=False):
    """Options that factories hand on to operators."""

    dtype: Any
    layout: Layout | None
    device: Any
    pin_memory: bool | None


FACTORY_OPTIONS: Final = dict.fromkeys(("dtype", "layout", "device", "pin_memory"))
"""What factories that take them from a tensor hand on, and its default."""

CalledBy = Callable[[FunctionType], Operator | Overloads]
"""Returns what a generated function calls."""

Function = TypeVar("Function", bound=Callable[..., Any])


def shown_by(source: CalledBy, function: FunctionType) -> None:
    """Let a generated function show the signature of what it calls."""
    function.__signature__ = LateSignature(_of_generated, source, function)  # type: ignore[attr-defined]


def _of_generated(source: CalledBy, function: FunctionType) -> Signature:
    called = source(function)
    if isinstance(called, Overloads):
        takes_out = dict(called.schemas)
    else:
        code = function.__code__
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        takes_out = {called.schema: "out" in named}
    return signature_of([*takes_out], lambda schema: _form(schema, takes_out[schema]))


def _form(schema: FunctionSchema, takes_out: bool) -> list[Parameter]:
    """Return the parameters of a function of one schema."""
    schema = python_schema(schema)
    parameters = parameters_of(schema)
    variadic = variadic_argument(schema)
    if variadic is not None:
        place = schema.arguments.index(variadic)
        parameters[place] = parameters[place].replace(kind=Parameter.VAR_POSITIONAL)
    if takes_out and "out" not in [each.name for each in parameters]:
        parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    return parameters


def shown_plainly(**options: object) -> Callable[[Function], Function]:
    """Return a decorator of functions that take more by ``**named`` than they spell out: NumPy's
    names, which are not shown, and `options`, which are. What a call cannot do without is shown
    without a default.

    Parameters
    ----------
    options
        The defaults of the keywords that a function hands on.
    """

    def decorate(function: Function) -> Function:
        function.__signature__ = LateSignature(_plain, function, options)  # type: ignore[attr-defined]
        return function

    return decorate


def shown_as(template: Callable[..., object]) -> Callable[[Function], Function]:
    """Return a decorator of functions with ``*args, **kwargs`` that shows the signature of
    `template`.
    """

    def decorate(function: Function) -> Function:
        function.__signature__ = LateSignature(signature, template)  # type: ignore[attr-defined]
        return function

    return decorate


def _plain(function: Any, options: Mapping[str, object]) -> Signature:
    own = FunctionType(  # the function without the signature that is asked for
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    own.__kwdefaults__, own.__annotations__ = function.__kwdefaults__, function.__annotations__
    found = signature(own)
    shown = [_required(p) for p in found.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shown += [Parameter(n, Parameter.KEYWORD_ONLY, default=d) for n, d in options.items()]
    return found.replace(parameters=shown)


def _required(parameter: Parameter) -> Parameter:
    """Return a parameter without the default that stands for none."""
    is_required = parameter.default is MISSING
    return parameter.replace(default=Parameter.empty) if is_required else parameter
