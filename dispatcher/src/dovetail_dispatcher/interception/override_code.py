"""Writes the code that a Python function has while it can be overridden: it asks before it runs
what the function is.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import count
from types import CodeType, FunctionType
from typing import Final, NamedTuple

from dovetail_kernel.signature import OVERRIDES

from ..compilation import compile_source
from ..missing import MISSING

_numbers: Final = count()


class _Parameters(NamedTuple):
    """The names of a function's parameters, by kind."""

    positional: tuple[str, ...]
    positional_only: int
    required: int
    keyword_only: tuple[str, ...]
    rest: str | None
    options: str | None

    def declared(self) -> str:
        """Return them as a ``def`` lists them, without defaults: those belong to the function."""
        parts = list(self.positional)
        if self.positional_only:
            parts.insert(self.positional_only, "/")
        if self.rest or self.keyword_only:
            parts.append(f"*{self.rest or ''}")
        parts += self.keyword_only
        if self.options:
            parts.append(f"**{self.options}")
        return ", ".join(parts)

    def passed(self, by_position: int) -> str:
        """Return them as a call passes them on, the first `by_position` by position."""
        parts = [*self.positional[:by_position]]
        parts += [f"{name}={name}" for name in self.positional[by_position:]]
        if self.rest:
            parts.append(f"*{self.rest}")
        parts += [f"{name}={name}" for name in self.keyword_only]
        if self.options:
            parts.append(f"**{self.options}")
        return ", ".join(parts)


def _parameters_of(function: FunctionType) -> _Parameters:
    code, names = function.__code__, iter(function.__code__.co_varnames)
    positional = tuple(next(names) for _ in range(code.co_argcount))
    keyword_only = tuple(next(names) for _ in range(code.co_kwonlyargcount))
    rest = next(names) if code.co_flags & CO_VARARGS else None
    options = next(names) if code.co_flags & CO_VARKEYWORDS else None
    optional = [each for each in function.__defaults__ or () if each is not MISSING]
    required = len(positional) - len(optional)
    return _Parameters(positional, code.co_posonlyargcount, required, keyword_only, rest, options)


def asking_code(
    function: FunctionType,
    ask: Callable[..., object],
    own: FunctionType,
    *,
    quiet: set[type] | None,
    is_method: bool,
    is_access: bool,
) -> CodeType:
    """Return code for `function` that calls `ask` if an argument may override it, else `own`.

    Parameters
    ----------
    quiet
        Classes whose instances never override anything; None: ask on every call.
    is_method
        Whether the first parameter is a tensor, whose signature says whether it overrides.
    is_access
        Whether the function gets, sets or deletes an attribute: then the tensor alone is asked.
    """
    parameters = _parameters_of(function)
    positional = parameters.positional
    by_position = len(positional) if is_method else parameters.required
    key = next(_numbers)  # getter and deleter of an attribute have one name in one module
    names = {f"_ask_{key}": ask, f"_own_{key}": own, "_quiet_classes": quiet}
    function.__globals__.update({name: value for name, value in names.items() if value is not None})
    passed = parameters.passed(by_position)
    text = f"def {function.__name__}({parameters.declared()}):\n"
    if quiet is None:
        text += f"    return _ask_{key}({passed})\n"
    else:
        tests = [f"{positional[0]}._signature & {OVERRIDES}"] if is_method else []
        if not is_access:
            others = (*positional[is_method:], *parameters.keyword_only)
            tests += [f"{name}.__class__ not in _quiet_classes" for name in others]
            tests += [name for name in (parameters.rest, parameters.options) if name]
        text += f"    if {' or '.join(tests)}:\n"
        text += f"        return _ask_{key}({passed})\n"
        text += f"    return _own_{key}({passed})\n"
    code: CodeType = compile_source(text, function.__name__, {}).__code__
    return code
