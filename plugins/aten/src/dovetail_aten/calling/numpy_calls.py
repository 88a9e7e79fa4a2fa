"""Calls of functions whose arguments were given by NumPy's names: ``cat(tensors, axis=1)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail_dispatcher.missing import MISSING

from ..templates.numpy_names import MEANING


def numpy_call(
    function: Callable[..., object],
    own: Mapping[str, object],
    surplus: object,
    named: Mapping[str, object],
) -> Any:
    """Call `function` with its arguments by their own names.

    Parameters
    ----------
    function
        What the user called.
    own
        Its arguments; those that were not given are what they are by default.
    surplus
        An argument beyond those that may be given by position, or MISSING.
    named
        What was given by NumPy's names, or MISSING.

    Raises
    ------
    TypeError
        If there are too many arguments, if one is given twice, or if a name is unknown.
    """
    called = function.__name__
    defaults = defaults_of(function)
    given = {n: v for n, v in own.items() if n not in defaults or v is not defaults[n]}
    if surplus is not MISSING:
        raise TypeError(
            f"{called}() takes fewer positional arguments than were given: {surplus!r} is one too "
            f"many. Its arguments are {', '.join(own)}; give those behind it by keyword."
        )
    for name, value in named.items():
        if value is MISSING or (name in defaults and value is defaults[name]):
            continue
        meant = MEANING.get(name, "")
        if meant not in own or meant in given:
            twice = f" Give '{meant}' once." if meant in given else ""
            raise TypeError(f"{called}() got an unexpected keyword argument '{name}'.{twice}")
        given[meant] = value
    return function(**given)


def defaults_of(function: Any) -> dict[str, Any]:
    """Return the defaults of a function by the names of its parameters."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}
