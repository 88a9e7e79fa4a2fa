"""Grad modes: context managers and decorators that turn recording on or off in this task."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, overload

from dovetail_kernel import dispatch_state, set_state, state, warn_user
from dovetail_kernel.keys import (
    SettingGuard,
    StateGuard,
    Transition,
    grad_mode_off,
    grad_mode_on,
    inference_mode_off,
    inference_mode_on,
)

F = TypeVar("F", bound=Callable[..., Any])


def _check_bool(function: str, mode: object) -> None:
    if mode.__class__ is not bool:
        raise TypeError(
            f"{function}(): argument 'enabled' (position 1) must be bool, not "
            f"{type(mode).__name__}. Give True or False."
        )


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in the current thread or asyncio task."""
    return dispatch_state().inference


class _StateMode(StateGuard):
    """A change of the dispatch state, as a context manager and as a decorator.

    A decorated generator or async function has the mode on while its own code runs, never while its
    caller's does. One object may be entered again before it was left.
    """

    __slots__ = ()

    def _copy(self) -> Any:
        make: Any = type(self)
        return make()

    def __call__(self, function: F) -> F:
        """Return `function` with the mode on while it runs."""
        return cast(F, decorate(function, self._copy))


def decorate(
    function: Callable[..., object], mode: Callable[[], AbstractContextManager[object]]
) -> Callable[..., Any]:
    """Return a function, generator or coroutine whose steps run in what `mode` returns.

    Parameters
    ----------
    mode
        Returns a context manager, a new one for each step.
    """
    if inspect.isclass(function):
        warn_user(
            "Decorating classes is deprecated and will be disabled in future versions. You should "
            "only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can "
            "directly decorate the "
            "`__init__` method and nothing else.",
            FutureWarning,
        )
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_generator(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            sent: Any = None
            try:
                while True:
                    try:
                        item = await _Stepped(generator.asend(sent), mode)
                    except StopAsyncIteration:
                        return
                    sent = yield item
            finally:
                await _Stepped(generator.aclose(), mode)

        return async_generator
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _Stepped(function(*args, **kwargs), mode)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator_function(*args: Any, **kwargs: Any) -> Any:
            return (yield from _Stepped(function(*args, **kwargs), mode))

        return generator_function

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        before = state()
        try:
            with mode():
                return function(*args, **kwargs)
        finally:  # also where the mode is interrupted before it has begun to
            set_state(before)

    return plain


class _Stepped:
    """A generator or coroutine each of whose steps runs in a mode."""

    __slots__ = ("_inner", "_mode")

    def __init__(self, inner: Any, mode: Callable[[], AbstractContextManager[object]]) -> None:
        self._inner = inner.__await__() if not hasattr(inner, "send") else inner
        self._mode = mode

    def __iter__(self) -> _Stepped:
        return self

    __await__ = __iter__

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: object) -> Any:
        return _run_in(self._mode, self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        return _run_in(self._mode, self._inner.throw, *error)

    def close(self) -> None:
        _run_in(self._mode, self._inner.close)


def _run_in(
    mode: Callable[[], AbstractContextManager[object]], function: Callable[..., object], *args: Any
) -> Any:
    """Return ``function(*args)``, run in a mode."""
    before = state()
    try:
        with mode():
            return function(*args)
    finally:
        set_state(before)


class _BareDecorator(_StateMode):
    """A mode that may also decorate without parentheses: ``@no_grad``."""

    __slots__ = ()

    _change: ClassVar[Transition]

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, function: Callable[..., object] | None = None) -> Any:
        if function is not None:
            return decorate(function, cast(Callable[[], _StateMode], cls))
        self = object.__new__(cls)
        self._previous = None
        self._transition = cls._change
        return self

    if not TYPE_CHECKING:
        # `__new__` does all there is to do; a constructor in Python would be a frame more.
        __init__ = object.__init__


class no_grad(_BareDecorator):
    """Context manager and decorator that disables recording: results do not require grad. The
    decorator works with and without parentheses.
    """

    __slots__ = ()

    _change = grad_mode_off


class enable_grad(_BareDecorator):
    """Context manager and decorator that enables recording, even inside `no_grad`."""

    __slots__ = ()

    _change = grad_mode_on


class set_grad_enabled(_StateMode):
    """Enable or disable recording: immediately, for a block as a context manager, or for a function
    as a decorator.

    Parameters
    ----------
    mode
        On or off.
    """

    __slots__ = ("_pending", "mode")

    def __init__(self, mode: bool) -> None:
        _check_bool("set_grad_enabled", mode)
        self._transition = transition = grad_mode_on if mode else grad_mode_off
        self._previous = None
        self.mode = mode
        self._pending: int | None
        self._pending = before = state()
        after = transition[before]
        try:
            if after != before:
                set_state(after)
        except BaseException:
            set_state(before)
            raise

    def _copy(self) -> _StateMode:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        before, self._pending = self._pending, None
        now = state()
        self._previous = now if before is None else before, self._previous
        try:
            if (after := self._transition[now]) != now:
                set_state(after)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __call__(self, function: F) -> F:
        """Return `function` with the mode set while it runs; the mode of the caller is put back at
        once.
        """
        if self._pending is not None:
            before, self._pending = self._pending, None
            set_state(before)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_StateMode):
    """Context manager and decorator in which calls skip autograd and new tensors are inference
    tensors.

    Parameters
    ----------
    mode
        False disables inference mode for the block. Default: True. A function is decorated, as with
        ``@inference_mode``.
    """

    __slots__ = ("mode",)

    mode: bool

    def __new__(cls, mode: bool | Callable[..., object] = True) -> Any:
        if not isinstance(mode, bool):
            return decorate(mode, cls)
        self = object.__new__(cls)
        self._previous = None
        self._transition = inference_mode_on if mode else inference_mode_off
        self.mode = mode
        return self

    if not TYPE_CHECKING:
        __init__ = object.__init__  # as for `no_grad`

    def _copy(self) -> Any:
        return inference_mode(self.mode)


_multithreading: ContextVar[bool] = ContextVar("dovetail_multithreading", default=True)


class set_multithreading_enabled(SettingGuard):
    """Set whether backward may use several threads, immediately or, as a context manager, for a
    block.

    The setting is only stored: the engine runs every backward on the calling thread.

    Parameters
    ----------
    mode
        Whether backward may use several threads.
    """

    variables = (_multithreading,)

    def __init__(self, mode: bool) -> None:
        _check_bool("set_multithreading_enabled", mode)
        self.mode = mode
        super().__init__()

    def change(self) -> None:
        """Store the mode."""
        _multithreading.set(self.mode)


def is_multithreading_enabled() -> bool:
    """Return whether backward may use several threads."""
    return _multithreading.get()
