"""Makes Python functions made of operators (`nn.functional.mse_loss`) overridable by classes and
modes.

They have no route to miss, and to ask on every call would cost as much as a small operator. So they
are as they are written until a class overrides functions, or while a `TorchFunctionMode` is entered
somewhere in the process: then their code is another, which asks first. The functions themselves
stay, since programs may hold them.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar, cast

from dovetail_kernel.forks import renewed_after_fork
from dovetail_kernel.keys.interception import on_overriding_class

from ..compilation import compile_source
from .overrides import call_overrides, overriding

__all__ = ["hold_functions", "is_overridable", "overridable", "release_functions"]

Function = TypeVar("Function", bound=Callable[..., Any])

_ASKING: Final = "_asking"
"""What modules that have such functions call the dict of what asks, by name of the function."""

_lock = renewed_after_fork(Lock())
_holders: Final[set[object]] = set()
_codes: Final[dict[FunctionType, tuple[CodeType, CodeType | None]]] = {}
"""Per overridable function its own code, and the one that asks once it was made."""


def overridable(function: Function) -> Function:
    """Let modes and overriding arguments override a Python function; it costs plain calls nothing.

    Handlers get the parameters without default by position, the others by keyword.

    Parameters
    ----------
    function
        Of a module, without closure.
    """
    made = cast(FunctionType, function)
    with _lock:
        _codes[made] = made.__code__, None
        if _holders:
            _have_asked(made)
    return function


def is_overridable(function: Any) -> bool:
    """Return whether a function was made `overridable`."""
    return isinstance(function, FunctionType) and function in _codes


def _have_asked(function: FunctionType) -> None:
    own, asking = _codes[function]
    if asking is None:
        asking = _asking_code(function)
        _codes[function] = own, asking
    function.__code__ = asking


def _asking_code(function: FunctionType) -> CodeType:
    """Return code for `function` that asks before it runs what the function is now."""
    import inspect  # takes long to import

    own = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    own.__kwdefaults__ = function.__kwdefaults__

    def ask(*args: Any, **kwargs: Any) -> Any:
        modes, overloaded = overriding(args, kwargs)
        if modes or overloaded:
            return call_overrides(function, overloaded, args, kwargs)
        return own(*args, **kwargs)

    parameters = list(inspect.signature(function).parameters.values())
    # Annotations and defaults belong to the function, which keeps them, and not to its code.
    taken = inspect.Signature([p.replace(annotation=p.empty, default=p.empty) for p in parameters])
    given = [
        f"*{p.name}"
        if p.kind is p.VAR_POSITIONAL
        else p.name
        if p.default is p.empty
        else f"{p.name}={p.name}"
        for p in parameters
    ]
    name = function.__name__
    text = f"def {name}{taken}:\n    return {_ASKING}[{name!r}]({', '.join(given)})\n"
    function.__globals__.setdefault(_ASKING, {})[name] = ask
    code: CodeType = compile_source(text, name, {}).__code__
    return code


def hold_functions(holder: object) -> None:
    """Have the functions ask until `release_functions` was called for every holder."""
    with _lock:
        is_first = not _holders
        _holders.add(holder)
        if is_first:
            for function in _codes:
                _have_asked(function)


def release_functions(holder: object) -> None:
    """Undo `hold_functions`, also one that was interrupted; a second time does nothing."""
    with _lock:
        _holders.discard(holder)
        if not _holders:
            for function, (own, _) in _codes.items():
                function.__code__ = own


_for_good = False


def _hold_for_good(_cls: type) -> None:
    global _for_good
    if not _for_good:
        _for_good = True
        hold_functions("overriding class")


on_overriding_class.append(_hold_for_good)
