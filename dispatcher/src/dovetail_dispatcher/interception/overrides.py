"""`__torch_function__`: arguments and modes that override what a function does.

A function finds out only when its route is not there: a tensor of an overriding class has a
signature bit, and an active mode a state bit, for which no route is ever stored. So calls with
plain tensors and no mode cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, NoReturn

from dovetail_kernel import (
    TensorBase,
    defining_module,
    disabled_torch_function_impl,
    dispatch_state,
    set_state,
    state,
    tensor_class,
)
from dovetail_kernel.signature import OVERRIDES

from .interceptable_attributes import interceptable, operator_modules
from .mode_stacks import function_modes

SKIPS: Final = ContextVar("dovetail_skips_overrides", default=False)
"""Whether the next call that asks is not to ask."""

_PLAIN = frozenset({int, float, bool, complex, str, type(None)})


def has_override(value: object) -> bool:
    """Return whether the class of `value` has a ``__torch_function__`` that is not disabled."""
    if isinstance(value, TensorBase):
        return bool(value._signature & OVERRIDES)
    function = getattr(type(value), "__torch_function__", None)
    return function is not None and function is not disabled_torch_function_impl


def overloaded_args(candidates: Iterable[object]) -> list[Any]:
    """Return one of `candidates`, all of overriding classes, per class, in the order in which they
    are asked.

    From left to right, but an instance of a subclass before one of its base.
    """
    found: list[Any] = []
    classes: list[type] = []
    for value in candidates:
        cls = type(value)
        if not classes:
            found.append(value)
            classes.append(cls)
            continue
        if cls in classes:
            continue
        bases = [i for i, other in enumerate(classes) if issubclass(cls, other)]
        place = bases[0] if bases else len(classes)
        found.insert(place, value)
        classes.insert(place, cls)
    return found


def overriding(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[bool, list[Any]]:
    """Return whether a mode handles a call, and which of its arguments override it, including items
    of lists.
    """
    if SKIPS.get():
        SKIPS.set(False)
        return False, []
    now = dispatch_state()
    candidates: list[Any] = []
    if now.torch_function:
        for value in (*args, *kwargs.values()) if kwargs else args:
            cls = type(value)
            if cls in _PLAIN:
                continue
            if isinstance(value, TensorBase):  # as has_override, without a call
                if value._signature & OVERRIDES:
                    candidates.append(value)
            elif cls is list or cls is tuple:
                candidates += [
                    item for item in value if type(item) not in _PLAIN and has_override(item)
                ]
            elif has_override(value):
                candidates.append(value)
    return now.function_modes, overloaded_args(candidates) if candidates else candidates


def call_overrides(
    function: Callable[..., Any],
    overloaded: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return the result of a call of `function` from the innermost function mode, else from the
    arguments in `overloaded`.

    Raises
    ------
    TypeError
        If all of them return NotImplemented.
    """
    types = tuple([type(value) for value in overloaded])
    mode = None
    before = state()
    if dispatch_state(before).function_modes:
        modes = function_modes.variable.get()
        mode = modes[-1]
        try:
            rest = modes[:-1]
            function_modes.put(rest)
            set_state((function_modes.seen if rest else function_modes.unseen)(before))
            result = mode.__torch_function__(function, types, tuple(args), dict(kwargs))
        finally:
            try:
                function_modes.put(modes)
            finally:
                set_state(before)
        if result is not NotImplemented:
            return result
    for value in overloaded:
        result = (
            type(value).__torch_function__
            if isinstance(value, TensorBase)
            else value.__torch_function__
        )
        result = result(function, types, tuple(args), dict(kwargs))
        if result is not NotImplemented:
            return result
    refuse_override(function, mode, overloaded)


def refuse_override(
    function: Callable[..., object], mode: object, overloaded: Sequence[object]
) -> NoReturn:
    """Raise the TypeError of a call of `function` for which the innermost function mode, None
    without one, and all arguments that override it returned NotImplemented.
    """
    asked = [] if mode is None else [f"  - mode object {mode!r}"]
    for value in overloaded:
        kind = "tensor subclass" if isinstance(value, TensorBase) else "object of class"
        asked.append(f"  - {kind} {type(value)!r}")
    raise multiple_dispatch_failed(overridden_name(function), "__torch_function__", asked)


def asked_first(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Any:
    """Return what a mode or an argument gives for a call of `function`; NotImplemented if none is
    to be asked. Whether a call that does not ask is the next one, is left for what it calls.
    """
    if SKIPS.get():
        return NotImplemented
    modes, overloaded = overriding(args, kwargs)
    if not modes and not overloaded:
        return NotImplemented
    return call_overrides(function, overloaded, args, kwargs)


def multiple_dispatch_failed(name: str, handler: str, asked: Sequence[str]) -> TypeError:
    """Return the error of a call whose handlers all returned NotImplemented."""
    listed = "\n".join(asked)
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all {handler} handlers returned "
        f"NotImplemented:\n\n{listed}\n\n"
        f"Treat it in one of them: return func(*args, **kwargs) from {handler} for what needs no "
        "special care."
    )


def overridden_name(function: Any) -> str:
    """Return the name of a function for messages: ``dovetail.add``,
    ``dovetail.Tensor.shape.__get__``.
    """
    if hasattr(function, "_qualified_op_name") or hasattr(function, "_operator"):
        return f"dovetail.ops.{function}"
    accessed = getattr(function, "__self__", None)
    is_access = isinstance(accessed, property)
    for attribute, value in interceptable(tensor_class()):
        if value == (accessed if is_access else function):
            full = f"dovetail.Tensor.{attribute}"
            return f"{full}.{function.__name__}" if is_access else full
    module: str = getattr(function, "__module__", "")
    name: str = getattr(function, "__qualname__", "")
    if not name:
        return repr(function)
    if defining_module(function) in operator_modules:
        return f"dovetail.{name}"
    return f"{module}.{name}"


def has_torch_function(relevant_args: Iterable[object]) -> bool:
    """Return True if an argument overrides functions or a mode is active: then call
    `handle_torch_function`.
    """
    modes, overloaded = overriding(tuple(relevant_args), {})
    return modes or bool(overloaded)


def has_torch_function_unary(value: object) -> bool:
    """Return `has_torch_function` of one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Return `has_torch_function` of several arguments."""
    return has_torch_function(values)


def unasked(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Any:
    """Call `func` so that it does not ask; what it calls does."""
    try:
        SKIPS.set(True)
        return func(*args, **kwargs)
    finally:
        SKIPS.set(False)


def handle_torch_function(
    public_api: Callable[..., object], relevant_args: Iterable[object], *args: Any, **kwargs: Any
) -> Any:
    """Dispatch a call of a Python function to modes and overriding arguments.

    Parameters
    ----------
    public_api
        The function as users call it; handlers get it as ``func``.
    relevant_args
        The arguments whose classes are checked for overrides.
    *args, **kwargs
        The arguments of the call.

    Raises
    ------
    TypeError
        If all handlers return NotImplemented, or if there are no handlers.

    Notes
    -----
    Plain tensors have a handler too, which calls the function directly.

    Examples
    --------
    ::

        def twice(x):
            if has_torch_function_unary(x):
                return handle_torch_function(twice, (x,), x)
            return x + x
    """
    relevant = tuple(relevant_args)
    modes, overloaded = overriding(relevant, {})
    if modes or overloaded:
        return call_overrides(public_api, overloaded, args, kwargs)
    plain = tensor_class()
    if not any([type(each) is plain for each in relevant]):
        raise TypeError(
            f"no implementation found for '{overridden_name(public_api)}' on types that implement "
            "__torch_function__: []. Ask has_torch_function first, and call this only where an "
            "argument overrides."
        )
    return disabled_torch_function_impl(public_api, (plain,), args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[object]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a Python function overridable.

    Parameters
    ----------
    dispatcher
        Function that takes the same arguments, and returns those to check for overrides.
    """

    def decorate(function: Callable[..., object]) -> Callable[..., Any]:
        @wraps(function)
        def overridable(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(overridable, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return overridable

    return decorate
