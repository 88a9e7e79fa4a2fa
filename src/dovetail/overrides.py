"""``dovetail.overrides``: `__torch_function__` for subclasses, other classes, and modes; what can
be overridden.
"""

import inspect as _inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache as _cache
from importlib import import_module as _import_module
from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    accesses,
    enable_reentrant_dispatch,
    function_modes,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    interceptable,
    is_overridable,
    operator_modules,
    overridden_name,
    redispatch_function,
    wrap_torch_function,
)
from dovetail_dispatcher._C import _pop_torch_function_stack, _push_on_torch_function_stack
from dovetail_kernel import defining_module

from .names.missing import serve_names as _serve_names

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_ROOT = "dovetail"
_MODULES = (
    _ROOT,
    "dovetail.nn.functional",
    "dovetail.nn.init",
    "dovetail._nn",
    "dovetail.fft",
    "dovetail.linalg",
    "dovetail.masked",
    "dovetail.special",
)


def is_tensor_like(inp: object) -> bool:
    """Return whether a value is a Tensor or has a ``__torch_function__``, and can therefore be used
    as a Tensor.
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@_cache
def get_default_nowrap_functions() -> frozenset[Callable[..., Any]]:
    """Return the functions whose tensors the default ``__torch_function__`` returns as they are."""
    return frozenset({_getter("_base"), _getter("grad")})


def _getter(name: str) -> Any:
    return getattr(Tensor, name).__get__


@_cache
def _overridable() -> dict[Any, dict[Callable[..., Any], str]]:
    """Return the names of the overridable functions by the module or class that has them."""
    found: dict[Any, dict[Callable[..., Any], str]] = {}
    for module in map(_import_module, _MODULES):
        functions = [(name, getattr(module, name)) for name in dir(module) if name[0] != "_"]
        found[module] = {
            f: f"{module.__name__}.{name}"
            for name, f in functions
            if _is_operator(f) or is_overridable(f)
        }
    methods: dict[Callable[..., Any], str] = {}
    for name in dir(Tensor):
        # Without compiled code the class has no table of DLPack's functions.
        method: Any = getattr(Tensor, name, None)
        if _is_operator(method):
            methods.setdefault(method, f"{_ROOT}.Tensor.{name}")
    for name, value in interceptable(Tensor):
        if isinstance(value, property):
            for access in accesses(value):
                methods[getattr(value, access)] = f"{_ROOT}.Tensor.{name}.{access}"
        else:
            methods.setdefault(getattr(Tensor, name), f"{_ROOT}.Tensor.{name}")
    found[Tensor] = methods
    return found


def _is_operator(value: object) -> bool:
    return _inspect.isfunction(value) and defining_module(value) in operator_modules


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that can be overridden, by the module or class that has them.

    Getters and setters of properties are in it as ``Tensor.shape.__get__``. A function and the
    method of the same name are one object.
    """
    return {owner: list(functions) for owner, functions in _overridable().items()}


@_cache
def get_ignored_functions() -> frozenset[Callable[..., Any]]:
    """Return the public functions at the top level that no argument overrides: they have no
    tensors, or call others. Modes see those that make tensors.
    """
    overridable = {f for functions in _overridable().values() for f in functions}
    root = _import_module(_ROOT)
    public = [getattr(root, name) for name in root.__all__]
    return frozenset(f for f in public if _inspect.isfunction(f) and f not in overridable)


@_cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return for every overridable function one with the same parameters that returns -1."""
    return {f: _dummy(f) for functions in _overridable().values() for f in functions}


def _dummy(function: Callable[..., object]) -> Callable[..., int]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    dummy.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return dummy


def _signature(function: Callable[..., object]) -> _inspect.Signature:
    """Return the signature of an overridable function, or of an access of an attribute."""
    accessed = getattr(function, "__self__", None)
    if isinstance(accessed, property):
        return _inspect.signature(accesses(accessed)[function.__name__])
    return _inspect.signature(function)


@_cache
def _tensor_functions() -> frozenset[Callable[..., Any]]:
    return frozenset(_overridable()[Tensor])


def is_tensor_method_or_property(func: Callable[..., object]) -> bool:
    """Return whether `func`, as a handler gets it, is a method of tensors or the getter or setter
    of a property.

    A function that is also a method counts as a method.
    """
    return func in _tensor_functions() or getattr(func, "__name__", None) in (
        "__get__",
        "__set__",
        "__delete__",
    )


def resolve_name(f: Callable[..., object]) -> str | None:
    """Return the name of an overridable function as users write it, or None: ``"dovetail.add"``."""
    if hasattr(f, "_operator") or hasattr(f, "_qualified_op_name"):
        return overridden_name(f)
    return next(iter([names[f] for names in _overridable().values() if f in names]), None)


_push_mode = _push_on_torch_function_stack
_pop_mode = _pop_torch_function_stack


def _pop_mode_temporarily() -> AbstractContextManager[Any]:
    """Return a context in which the innermost mode is not active; it is the context's value."""
    return function_modes.popped()


def _get_current_function_mode() -> TorchFunctionMode | None:
    """Return the innermost active mode."""
    modes = function_modes.modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """Return the active modes, outermost first."""
    return list(function_modes.modes)


_serve_names(__name__)
