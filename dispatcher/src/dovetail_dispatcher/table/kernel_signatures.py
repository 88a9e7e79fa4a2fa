"""Checks at registration, not at the first call, that a Python function can be called as it will
be.

Only what can never work is refused. Parameters with defaults, ``*args`` and ``**kwargs`` give a
function freedom, and functions that do not tell their signature (ufuncs, many written in C) are
believed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from types import FunctionType, MethodType
from typing import NamedTuple

from ..schema import FunctionSchema
from .kernels import ARRAY, BOXED, FORMULA, Kernel

_VARARGS, _VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


class Parameters(NamedTuple):
    """What a function can be called with.

    Attributes
    ----------
    required, allowed
        The least and the greatest number of positional arguments; None: any number.
    names
        What can be given by keyword; None: anything.
    required_names
        Keyword-only parameters without default.
    """

    required: int
    allowed: int | None
    names: Collection[str] | None
    required_names: Collection[str]


def check_kernel(kernel: Kernel, schema: FunctionSchema, qualified_name: str) -> None:
    """Raise an error for a kernel that no call of an operator with this schema can run.

    Raises
    ------
    TypeError
        Naming the function, its place, the schema and what does not fit.
    """
    if kernel.convention in (BOXED, FORMULA) or kernel.is_fallthrough:
        return
    if kernel.when is not None:
        _check_condition(kernel, schema, qualified_name)
    parameters = parameters_of(kernel.fn)
    if parameters is None:
        return
    arguments = [a for a in schema.arguments if not (kernel.convention == ARRAY and a.is_out)]
    positional = [a for a in arguments if not a.kwarg_only]
    keyword = [a for a in arguments if a.kwarg_only]
    least = max((i for i, a in enumerate(positional, 1) if not a.has_default_value()), default=0)
    extra = 1 if kernel.with_keyset else 0
    problem = ""
    if parameters.allowed is not None and parameters.allowed < least + extra:
        problem = (
            f"it takes {parameters.allowed} positional argument(s), "
            f"but a call gives at least {least + extra}"
        )
    elif parameters.required > len(positional) + extra + sum(
        takes(parameters, a.name) for a in keyword
    ):
        problem = (
            f"it needs {parameters.required} positional arguments, "
            f"but a call gives {len(positional) + extra}"
        )
    else:
        unknown = sorted(set(parameters.required_names) - {a.name for a in keyword})
        refused = [
            a.name for a in keyword if not (a.has_default_value() or takes(parameters, a.name))
        ]
        if unknown:
            problem = f"it needs the keyword-only argument {unknown[0]!r}, which the schema has not"
        elif refused:
            problem = f"it does not take {refused[0]!r} by keyword, which the schema gives so"
    if problem:
        first = " after the DispatchKeySet" if extra else ""
        raise TypeError(
            f"The function {kernel.name} ({kernel.source}) cannot be a kernel of {qualified_name} "
            "at "
            f"{kernel.key.name}: {problem}. Give it the parameters of the schema{first}: {schema}"
        )


def _check_condition(kernel: Kernel, schema: FunctionSchema, qualified_name: str) -> None:
    """Raise an error for a condition that does not accept all arguments of a call."""
    assert kernel.when is not None
    parameters = parameters_of(kernel.when)
    if parameters is None:
        return
    arguments = [a for a in schema.arguments if not (kernel.convention == ARRAY and a.is_out)]
    count = sum([not a.kwarg_only for a in arguments])
    names = {a.name for a in arguments if a.kwarg_only}
    fits = parameters.required <= count and (
        parameters.allowed is None or count <= parameters.allowed
    )
    if not fits or not names.issuperset(parameters.required_names):
        problem = f"a call gives {count} positional arguments and the keywords {sorted(names)}"
    elif refused := [name for name in sorted(names) if not takes(parameters, name)]:
        problem = f"it does not take {refused[0]!r} by keyword"
    else:
        return
    raise TypeError(
        f"{_described(kernel.when)} cannot be the condition of a kernel of {qualified_name}: "
        f"{problem}. Give it the parameters of the schema: {schema}"
    )


def check_backward(backward: Callable[..., object], schema: FunctionSchema, operator: str) -> None:
    """Raise an error for a ``backward(ctx, *grads)`` that does not take one gradient per return.

    Raises
    ------
    TypeError
        Naming the function and the returns.
    """
    parameters = parameters_of(backward)
    given = 1 + len(schema.returns)
    if parameters is None:
        return
    if not parameters.required <= given <= (
        given if parameters.allowed is None else parameters.allowed
    ) or (parameters.required_names):
        raise TypeError(
            f"{_described(backward)} cannot be the backward of {operator}: it must take ctx and "
            f"one gradient per return, {given} positional arguments. Schema: {schema}"
        )


def check_setup_context(
    setup_context: Callable[..., object], schema: FunctionSchema, operator: str
) -> None:
    """Raise an error for a ``setup_context`` that does not take ``ctx``, ``inputs`` and ``output``
    by keyword.

    Raises
    ------
    TypeError
        Naming the function and the parameter.
    """
    parameters = parameters_of(setup_context)
    if parameters is None:
        return
    given = ["ctx", "inputs", "output"]
    if any([a.kwarg_only for a in schema.arguments]):
        given.insert(2, "keyword_only_inputs")
    missing = [name for name in given if not takes(parameters, name)]
    unknown = sorted(set(parameters.required_names) - set(given))
    if missing or unknown or parameters.required > len(given):
        raise TypeError(
            f"{_described(setup_context)} cannot be the setup_context of {operator}: it is called "
            f"with the keywords {', '.join(given)}. Define it as setup_context({', '.join(given)})."
        )


def takes(parameters: Parameters, name: str) -> bool:
    """Return whether an argument can be given by this name."""
    return parameters.names is None or name in parameters.names


def parameters_of(function: Callable[..., object]) -> Parameters | None:
    """Return what a callable takes; None if it does not tell."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return _inspected(function)
    code = plain.__code__
    count = code.co_argcount
    bound = 1 if plain is not function and count else 0
    first = max(code.co_posonlyargcount, bound)
    names = code.co_varnames[first : count + code.co_kwonlyargcount]
    only = code.co_varnames[count : count + code.co_kwonlyargcount]
    defaults = plain.__kwdefaults__ or ()
    return Parameters(
        count - bound - len(plain.__defaults__ or ()),
        None if code.co_flags & _VARARGS else count - bound,
        None if code.co_flags & _VARKEYWORDS else names,
        [name for name in only if name not in defaults],
    )


def _inspected(function: Callable[..., object]) -> Parameters | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return Parameters(
        len([p for p in positional if p.default is p.empty]),
        None if inspect.Parameter.VAR_POSITIONAL in kinds else len(positional),
        None
        if inspect.Parameter.VAR_KEYWORD in kinds
        else [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)],
        [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty],
    )


def _described(function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", None) or repr(function)
    code = getattr(function, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else str(name)
