"""Decorators that return the function unchanged, settings without effect, and functions that need
a compiler and raise NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..compiler import uncompiled
from ..futures import Future
from .refusals import no_graph

_isinstance = isinstance


class Error(RuntimeError):
    """The error of compiled programs; never raised."""


def script(obj: object, *arguments: Any, **options: Any) -> Any:
    """Return a function, class or module unchanged."""
    return uncompiled(obj)


def script_method(fn: Callable[..., object]) -> Any:
    """Return `fn` unchanged."""
    return uncompiled(fn)


def script_if_tracing(fn: Callable[..., object]) -> Any:
    """Return `fn` unchanged; its calls are traced."""
    return fn


_script_if_tracing = script_if_tracing


def _overload(fn: object) -> Any:
    """Return `fn`, one of several signatures that a compiler would know of a function."""
    return fn


_overload_method = _overload


def export(fn: Callable[..., object]) -> Any:
    """Return `fn` unchanged."""
    return fn


def interface(obj: object) -> Any:
    """Return a class unchanged."""
    return obj


def ignore(drop: object = False, **options: Any) -> Any:
    """Return the function unchanged; also usable as ``@ignore(drop=True)``."""
    return drop if callable(drop) else _same


def unused(fn: Callable[..., object]) -> Any:
    """Return `fn` unchanged."""
    return fn


def _same(function: Callable[..., object]) -> Any:
    return function


def is_scripting() -> bool:
    """Return False: programs are not compiled."""
    return False


def annotate(the_type: object, the_value: object) -> Any:
    """Return `the_value`; `the_type` is ignored."""
    return the_value


def Attribute(value: object, type: object) -> Any:
    """Return `value`; `type` is ignored."""
    return value


def isinstance(obj: object, target_type: Any) -> bool:
    """Return whether `obj` is an instance of a class, or of one of several."""
    return _isinstance(obj, target_type)


def fork(func: Callable[..., object], *arguments: Any, **options: Any) -> Any:
    """Return a future with the result of `func`, which runs immediately, as in PyTorch outside a
    compiled program.
    """
    future: Future[Any] = Future()
    future.set_result(func(*arguments, **options))
    return future


def wait(future: Any) -> Any:
    """Return the value of what `fork` returned."""
    return future.wait()


class strict_fusion:
    """Context manager without effect: no compiler fuses operators."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


class optimized_execution(strict_fusion):
    """Context manager without effect; `should_optimize` is ignored."""

    def __init__(self, should_optimize: bool) -> None:
        pass


class fuser(strict_fusion):
    """Context manager without effect; `name` is ignored."""

    def __init__(self, name: str) -> None:
        pass


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the strategy, which is ignored: no compiler fuses operators."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accept a compiler setting and ignore it."""


def onednn_fusion_enabled() -> bool:
    """Return False: no compiler fuses operators."""
    return False


def save(m: object, f: object, *arguments: Any) -> NoReturn:
    """Raise NotImplementedError: there are no compiled modules to save."""
    no_graph("save")


def load(f: object, *arguments: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: compiled modules cannot be run."""
    no_graph("load")


def freeze(mod: object, *arguments: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: there are no compiled modules to freeze."""
    no_graph("freeze")


def optimize_for_inference(mod: object, *arguments: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: there are no compiled modules to optimize."""
    no_graph("optimize_for_inference")
