"""Makes Python functions and methods that are not operators (`nn.functional.mse_loss`,
`Tensor.item`, the getter of `Tensor.shape`) overridable by classes and modes.

They have no route to miss, and to ask on every call would cost as much as a small operator. So they
are as they are written until a class overrides functions, or while a `TorchFunctionMode` is entered
somewhere in the process: then their code is another, which asks first. The functions themselves
stay, since programs may hold them.

When the last mode is left, each function gets its code back at its next call: a program that enters
modes again and again pays for the functions that it calls in between, and not for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from types import CodeType, EllipsisType, FunctionType, NoneType
from typing import Any, Final, TypeVar, cast

from dovetail_kernel import (
    Device,
    Layout,
    MemoryFormat,
    TensorBase,
    defining_module,
    dtype,
    renewed_after_fork,
    set_state,
    state,
    tensor_class,
)
from dovetail_kernel.keys import functions_as_they_are
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.sockets import OVERRIDING_CLASS

from ..compilation import exchange_code
from ..missing import MISSING
from .interceptable_attributes import accesses, interceptable, operator_modules
from .override_code import asking_code
from .overrides import call_overrides, overriding, unasked

Function = TypeVar("Function", bound=Callable[..., Any])

_QUIET: Final[set[type]] = {
    *(int, float, complex, bool, str, slice, NoneType, EllipsisType),
    *(dtype, Device, Layout, MemoryFormat),
}
"""Classes whose instances never override anything, and hold nothing that does; the class of plain
tensors joins them.
"""


class _Overridable:
    """A function that can be overridden, its own code, and those with which it asks.

    Parameters
    ----------
    function
        Of a module or class, without closure.
    func
        What handlers get to call: the function itself, or ``Tensor.shape.__get__``.
    is_method, is_access
        As for `asking_code`.
    is_spread
        Handlers get a single sequence in place of its last parameters item by item.
    """

    def __init__(
        self,
        function: FunctionType,
        func: Callable[..., object],
        *,
        is_method: bool = False,
        is_access: bool = False,
        is_spread: bool = False,
    ) -> None:
        self.function = function
        self.func = func
        self.is_method = is_method
        self.is_access = is_access
        self.is_spread = is_spread
        self.own_code = function.__code__
        self.original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self._asking: dict[bool, CodeType] = {}

    @property
    def asks_modes(self) -> bool:
        """Whether the code of the function is the one that asks modes."""
        return self.function.__code__ is self._asking.get(True)

    def set_code(self, *, asks_classes: bool, asks_modes: bool) -> None:
        """Have the function ask arguments of overriding classes, and modes, or be as it was."""
        if not asks_classes and not asks_modes:
            exchange_code(self.function, self.own_code)
            return
        if asks_modes not in self._asking:
            self._asking[asks_modes] = asking_code(
                self.function,
                self.ask,
                self.original,
                quiet=None if asks_modes else _QUIET,
                is_method=self.is_method,
                is_access=self.is_access,
            )
        exchange_code(self.function, self._asking[asks_modes])

    def ask(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or what overrides it."""
        try:
            return self._ask(args, kwargs)
        except Exception as error:  # as an entry: the frames of asking are none of the program's
            shorten_traceback(error)
            raise

    def _ask(self, args: tuple[Any, ...], kwargs: dict[str, object]) -> Any:
        if not _mode_holders and self.asks_modes:  # the last mode was left since
            with _lock:
                _set_codes([self])
            return self.function(*args, **kwargs)
        modes, overloaded = overriding(*((args[:1], {}) if self.is_access else (args, kwargs)))
        if not modes and not overloaded:
            return self.original(*args, **kwargs)
        if self.is_spread and len(args) == self.own_code.co_argcount + 1:
            args = (*args[:-1], *args[-1]) if isinstance(args[-1], (list, tuple)) else args
        if self.is_method:
            args, kwargs = self._as_given(args, kwargs)
        elif any([each is MISSING for each in args]):  # NumPy's names are among the keywords
            named = zip(self.own_code.co_varnames, args, strict=False)
            args, kwargs = (), {n: v for n, v in named if v is not MISSING} | kwargs
        return call_overrides(self.func, overloaded, args, kwargs)

    def _as_given(
        self, args: tuple[object, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments without those that are defaults."""
        defaults = self.function.__defaults__ or ()
        if len(args) == self.own_code.co_argcount:
            while defaults and args[-1] is defaults[-1]:
                args, defaults = args[:-1], defaults[:-1]
        named = self.function.__kwdefaults__ or {}
        return args, {
            name: value
            for name, value in kwargs.items()
            if name not in named or value is not named[name]
        }


_lock: Final = renewed_after_fork(Lock())
OVERRIDABLE: Final[dict[FunctionType, _Overridable]] = {}
"""What is known of each function that can be overridden; compiled code reads it too."""

_covered: Final[set[type]] = set()
_mode_holders: Final[list[object]] = []
_not_asking_modes: Final[set[_Overridable]] = set()
"""The functions whose code does not ask modes. All others do, or have not been called since the
last mode was left.
"""
_has_classes = False


def overridable(function: Function, *, is_spread: bool = False) -> Function:
    """Allow modes and arguments to override a Python function, without a cost for other calls.

    Handlers receive parameters without default by position, and others by keyword.

    Parameters
    ----------
    function
        A function of a module, without closure.
    is_spread
        Whether it accepts either any number of arguments or one sequence. Handlers receive separate
        arguments.
    """
    with _lock:
        _note(_Overridable(cast(FunctionType, function), function, is_spread=is_spread))
    return function


def is_overridable(function: Callable[..., object]) -> bool:
    """Return whether a function, or a method of tensors, is `overridable`."""
    return isinstance(function, FunctionType) and function in OVERRIDABLE


def _find(function: Callable[..., object]) -> _Overridable | None:
    """Return what is known of a function, or of an access of an attribute."""
    accessed = getattr(function, "__self__", None)
    if isinstance(accessed, property):
        found = accesses(accessed).get(function.__name__)
        return None if found is None else OVERRIDABLE.get(found)
    return OVERRIDABLE.get(function) if isinstance(function, FunctionType) else None


def redispatch_function(
    func: Callable[..., object],
    types: Sequence[type],
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> Any:
    """Call `func` from a ``__torch_function__`` without overrides for this call; inner calls still
    use overrides.

    Parameters
    ----------
    func, types, args, kwargs
        As the handler got them.

    Examples
    --------
    A class that also intercepts calls inside a function::

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func)
            return redispatch_function(func, types, args, kwargs)
    """
    known = _find(func)
    is_operator = hasattr(func, "_operator") or defining_module(func) in operator_modules
    if is_operator or (known is not None and known.is_method):
        before = state()
        try:  # what operators and methods do within is not for handlers
            set_state(functions_as_they_are(before))
            return func(*args, **(kwargs or {}))
        finally:
            set_state(before)
    if known is not None:
        return known.original(*args, **(kwargs or {}))
    return unasked(func, args, kwargs or {})


def _note(each: _Overridable) -> None:
    _not_asking_modes.add(each)
    OVERRIDABLE[each.function] = each
    _set_codes([each])


def _cover(cls: type) -> None:
    """Make the attributes of the plain tensor class `cls` overridable."""
    if cls in _covered:
        return
    _covered.add(cls)
    _QUIET.add(cls)
    for _, value in interceptable(cls):
        if isinstance(value, property):
            for name, function in accesses(value).items():
                if function not in OVERRIDABLE:
                    func = getattr(value, name)
                    _note(_Overridable(function, func, is_method=True, is_access=True))
        elif value not in OVERRIDABLE:
            _note(_Overridable(value, value, is_method=True))


def _set_codes(functions: Iterable[_Overridable]) -> None:
    for each in functions:
        asks_modes = bool(_mode_holders)
        if not asks_modes:  # noted before and after: an interrupt leaves no function out
            _not_asking_modes.add(each)
        each.set_code(asks_classes=_has_classes, asks_modes=asks_modes)
        if asks_modes:
            _not_asking_modes.discard(each)


def hold_functions(holder: object) -> None:
    """Have the functions ask modes until `release_functions` was called as often, and with equal
    holders.
    """
    with _lock:
        _mode_holders.append(holder)
        _cover(tensor_class())
        if _not_asking_modes:
            _set_codes(list(_not_asking_modes))


def release_functions(holder: object) -> None:
    """Undo one `hold_functions`, also one that was interrupted; where there is none, do nothing."""
    with _lock:
        if holder in _mode_holders:
            _mode_holders.remove(holder)


def ask_arguments() -> None:
    """Have the functions ask arguments from now on whether they override: to be called by a class
    that is not a tensor, but has a ``__torch_function__`` and stands where tensors do.
    """
    if not _has_classes:
        _have_asked(tensor_class())


def _have_classes_asked(cls: type) -> None:
    """Have the functions ask arguments from now on, since `cls` overrides functions."""
    _have_asked(
        next(
            iter(
                [
                    base
                    for base in cls.__mro__
                    if base is TensorBase or base.__dict__.get("_is_plain", False)
                ]
            )
        )
    )


def _have_asked(plain: type) -> None:
    """Have the functions ask, and the methods and attributes of the plain tensor class."""
    global _has_classes
    with _lock:
        if not _has_classes:
            _has_classes = True
            _set_codes(OVERRIDABLE.values())
        _cover(plain)


OVERRIDING_CLASS.add(_have_classes_asked)
