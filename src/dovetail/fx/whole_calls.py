"""Calls that are recorded whole while a program is traced: `wrap`, and how."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from types import ModuleType
from typing import Any, Final, TypeVar

from .proxy import Proxy

_F = TypeVar("_F", bound="str | Callable[..., Any]")

_MAKERS: Final = (
    *("arange", "as_tensor", "empty", "empty_strided", "eye", "full", "linspace", "logspace"),
    *("ones", "rand", "randint", "randn", "randperm", "range", "scalar_tensor", "tensor"),
    *("tril_indices", "triu_indices", "zeros"),
)
"""Functions that make tensors: they take numbers, and ask no argument whether it overrides."""

_wrapped: Final[dict[tuple[int, str], dict[str, Any]]] = {}
"""The globals with names whose calls are kept whole."""


def wrap(fn_or_name: _F) -> _F:
    """Record calls of a function in the calling module as single calls.

    Parameters
    ----------
    fn_or_name
        A global of the module, or its name: also that of a built-in function, ``'len'``. Decorates
        as well.

    Returns
    -------
    str or Callable
        What was given.

    Raises
    ------
    RuntimeError
        For anything else.
    NotImplementedError
        Anywhere but at the top of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


class Replacements:
    """Attributes and globals that have another value until `undo`."""

    def __init__(self) -> None:
        self._undoing: list[Callable[[], object]] = []
        self._seen: set[int] = set()

    def set_attribute(self, cls: type, name: str, value: object) -> None:
        """Let an attribute of a class be another."""
        before = getattr(cls, name)
        self._undoing.append(lambda: setattr(cls, name, before))
        setattr(cls, name, value)

    def keep_known_whole(self) -> None:
        """Keep the calls whole of what `wrap` was told of, and of functions that make tensors."""
        for (_, name), names in list(_wrapped.items()):
            function: Any = names[name] if name in names else getattr(builtins, name)
            self._keep(names, name, function)
        for name in _MAKERS:
            maker: Any = getattr(sys.modules["dovetail"], name)
            for module in ("dovetail", "torch"):
                known = vars(sys.modules[module]) if module in sys.modules else {}
                if name in known and known[name] is maker:
                    self._keep(known, name, maker)

    def keep_whole(self, names: dict[str, Any], functions: dict[int, Any]) -> None:
        """Keep the calls whole of those among `functions`, by their ids, that are in `names`, the
        globals of a module.
        """
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name, value in list(names.items()):
            if id(value) in functions and not name.startswith("_"):
                self._keep(names, name, value)

    def keep_modules_whole(self, modules: Iterable[ModuleType], functions: dict[int, Any]) -> None:
        """Keep the calls whole of the functions of modules."""
        for module in modules:
            self.keep_whole(vars(module), functions)

    def undo(self) -> None:
        """Give everything its value back, the last first."""
        while self._undoing:
            self._undoing.pop()()

    def _keep(self, names: dict[str, object], name: str, function: Callable[..., Any]) -> None:
        if name in names:
            before = names[name]
            self._undoing.append(lambda: names.__setitem__(name, before))
        else:
            self._undoing.append(lambda: names.pop(name, None))
        names[name] = _kept_whole(function)


def _kept_whole(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function that is recorded as one call where it gets proxies."""

    @wraps(function)
    def whole(*args: Any, **kwargs: Any) -> Any:
        proxy = _proxy_in((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return whole


def _proxy_in(values: object) -> Proxy | None:
    """Return a proxy among nested values, or None."""
    if isinstance(values, Proxy):
        return values
    if isinstance(values, slice):
        values = (values.start, values.stop, values.step)
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (tuple, list)):
        for each in values:
            if (found := _proxy_in(each)) is not None:
                return found
    return None
